import type { Contract, Output } from '@holdfast/contract'
import { type Role, roleNames } from '@holdfast/contract/vocabulary'
import { Argument, type Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, limit, reason } from '../options.ts'
import { type Column, noteWarnings, printAll, printItem, printList } from '../output.ts'
import { jsonText } from '../text.ts'

type RoleRights = Output<Contract['listRoles']>['items'][number]
type Grant = Output<Contract['listGrants']>['items'][number]
const roleColumns: readonly Column<RoleRights>[] = [
  ['ROLE', (r) => r.role],
  ['PERMISSIONS', (r) => r.permissions.length],
  ['WRITE PERMISSIONS', (r) => r.permissions.filter((p) => !p.endsWith(':read')).length],
]
const grantColumns: readonly Column<Grant>[] = [
  ['USER', (g) => g.user_id],
  ['USERNAME', (g) => g.username],
  ['ROLE', (g) => g.role],
  ['GRANTED BY', (g) => g.granted_by],
  ['GRANTED', (g) => g.granted_at],
]
const roleArgument = () => new Argument('<role>', 'name of the role').choices(roleNames)

export function addRole(program: Command, cli: Cli): void {
  const role = program.command('role').description('Manage roles of users')
  examples(
    role
      .command('list')
      .description('List roles and their number of permissions')
      .action(async () => {
        const { items } = await (await cli.client()).listRoles({ query: cli.scope })
        await printAll(cli, roleColumns, items)
      }),
    'role list',
  )
  examples(
    role
      .command('show')
      .description('List the permissions of a role\n\nIt prints one permission per line.')
      .addArgument(roleArgument())
      .action(async (name: Role) => {
        const { items } = await (await cli.client()).listRoles({ query: cli.scope })
        const permissions = items.find((one) => one.role === name)?.permissions ?? []
        if (cli.json) cli.say(jsonText({ role: name, permissions }, 2))
        else for (const permission of permissions) cli.say(permission)
      }),
    'role show operator',
  )
  examples(
    limit(role.command('grants').description('List grants of roles, newest first'))
      .option('--user <user>', 'only grants to this user')
      .addOption(choice('--role <role>', 'only grants of this role', roleNames))
      .action(async ({ limit: most, user, role: name }: { limit: number; user?: string; role?: Role }) => {
        const client = await cli.client()
        const query = { ...given({ user_id: user, role: name }), ...cli.scope }
        await printList(cli, most, grantColumns, (page) => client.listGrants({ query: { ...query, ...page } }))
      }),
    'role grants --role platform_admin',
  )
  for (const operation of ['grant', 'revoke'] as const)
    examples(
      reason(
        role
          .command(operation)
          .description(operation === 'grant' ? 'Grant a role to a user' : 'Revoke a role from a user'),
      )
        .argument('<user>', operation === 'grant' ? 'user that gets the role' : 'user that loses the role')
        .addArgument(roleArgument())
        .action((user_id: string, name: Role, options: { reason?: string }) =>
          change(cli, operation, { user_id, role: name, ...given(options) }),
        ),
      `role ${operation} anna auditor --reason "yearly audit"`,
    )
}

type Change = { user_id: string; role: Role; reason?: string }

async function change(cli: Cli, operation: 'grant' | 'revoke', body: Change): Promise<void> {
  const client = await cli.client()
  const input = { body, query: cli.scope }
  const answer = await (operation === 'grant' ? client.grantRole(input) : client.revokeRole(input))
  if (!answer.changed) cli.note('No change.')
  noteWarnings(cli, answer)
  printItem(cli, answer.user)
}
