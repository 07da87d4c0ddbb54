import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type User = Output<Contract['getUser']>
const columns: readonly Column<User>[] = [
  ['USER', (u) => u.user_id],
  ['USERNAME', (u) => u.username],
  ['NAME', (u) => u.display_name],
  ['STATUS', (u) => u.status],
  ['ROLES', (u) => u.roles],
  ['LAST LOGIN', (u) => u.last_login_at],
]

export function addUser(program: Command, cli: Cli): void {
  const user = program.command('user').description('users')
  examples(
    limit(user.command('list').description('list users'))
      .addOption(choice('--status <status>', 'only these', ['active', 'suspended']))
      .option('--group <group_id>', 'in this group')
      .option('--q <prefix>', 'name starts with')
      .action(async (options: { limit: number; status?: User['status']; group?: string; q?: string }) => {
        const { limit: most, group, ...rest } = options
        const client = await cli.client()
        const query = { ...given({ ...rest, group_id: group }), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listUsers({ query: { ...query, ...page } }))
      }),
    'user list --q anna',
  )
  examples(
    user
      .command('create <username>')
      .description('create a user')
      .option('--email <address>')
      .option('--display-name <name>')
      .option('--group <group_id...>', 'groups to join')
      .action(async (username: string, options: { email?: string; displayName?: string; group?: string[] }) => {
        const { email, displayName, group } = options
        const fields = { username, ...given({ email, display_name: displayName, group_ids: group }) }
        const client = await cli.client()
        const answer = await client.changeUser({ body: { operation: 'create', user: fields }, query: cli.scope })
        printItem(cli, answer.user)
      }),
    'user create anna --email anna@example.com --display-name "Anna Berg"',
  )
}
