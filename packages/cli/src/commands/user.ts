import type { Contract, Output } from '@holdfast/contract'
import { roleNames } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { printFacets } from '../facets.ts'
import { choice, examples, limit, reason, sort, sortsOf } from '../options.ts'
import { type Column, noteWarnings, printItem, printList } from '../output.ts'
import { countText, jsonText } from '../text.ts'
import { addUserLinks } from './provider.ts'
import { addUserPassword } from './user-password.ts'

type User = Output<Contract['getUser']>
const columns: readonly Column<User>[] = [
  ['USER', (u) => u.user_id],
  ['USERNAME', (u) => u.username],
  ['NAME', (u) => u.display_name],
  ['STATUS', (u) => stateOf(u)],
  ['ROLES', (u) => u.roles],
  ['2ND FACTOR', (u) => (u.mfa.enabled ? 'yes' : null)],
  ['GROUPS', (u) => u.group_names],
  ['DEVICES', (u) => u.device_count],
  ['LAST LOGIN', (u) => u.last_login_at],
]
const stateOf = ({ status, locked_until }: User): string => (locked_until === null ? status : `${status}, locked`)

const sorts = sortsOf('username', 'created_at', 'last_login_at')
type Filter = {
  status?: User['status']
  group?: string
  role?: User['roles'][number]
  mfa?: 'yes' | 'no'
  locked?: 'yes' | 'no'
  hasDevices?: 'yes' | 'no'
  q?: string
  sort?: (typeof sorts)[number]
}
const said = (answer: 'yes' | 'no' | undefined) => (answer === undefined ? undefined : answer === 'yes')

type NewUser = { service?: boolean; email?: string; displayName?: string; group?: string[] }

const filtered = (command: Command) =>
  command
    .addOption(choice('--status <status>', 'only these', ['active', 'suspended']))
    .option('--group <group>', 'in this group')
    .addOption(choice('--role <role>', 'with this role', roleNames))
    .addOption(choice('--mfa <yes|no>', 'with, or without, a second factor', ['yes', 'no']))
    .addOption(choice('--locked <yes|no>', 'locked after failed sign-ins, or not', ['yes', 'no']))
    .addOption(choice('--has-devices <yes|no>', 'with, or without, devices', ['yes', 'no']))
    .option('--q <prefix>', 'name starts with')

const filterOf = ({ group, mfa, locked, hasDevices, ...rest }: Filter) =>
  given({ ...rest, group_id: group, mfa: said(mfa), locked: said(locked), has_devices: said(hasDevices) })

export function addUser(program: Command, cli: Cli): void {
  const user = program.command('user').description('users')
  examples(
    sort(filtered(limit(user.command('list').description('list users'))), sorts).action(
      async ({ limit: most, ...options }: Filter & { limit: number }) => {
        const client = await cli.client()
        const query = { ...filterOf(options), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listUsers({ query: { ...query, ...page } }))
      },
    ),
    'user list --q anna',
    'user list --role tenant_admin --mfa no',
    'user list --sort last_login_at',
  )
  examples(
    filtered(user.command('facets').description('number of users for each value of each filter')).action(
      async ({ sort: _, ...options }: Filter) =>
        printFacets(cli, await (await cli.client()).listUserFacets({ query: { ...filterOf(options), ...cli.scope } })),
    ),
    'user facets',
  )
  examples(
    user
      .command('show <user>')
      .description('one user')
      .action(async (user_id: string) =>
        printItem(cli, await (await cli.client()).getUser({ params: { user_id }, query: cli.scope })),
      ),
    'user show anna',
  )
  examples(
    user
      .command('create <username>')
      .description('create a user')
      .option('--service', 'a service account for a program: no password, no sign-in; it may own API keys')
      .option('--email <address>')
      .option('--display-name <name>')
      .option('--group <group...>', 'groups to join')
      .action(async (username: string, options: NewUser) => {
        const { service, email, displayName, group } = options
        const kind = service ? ('service' as const) : undefined
        const fields = { username, ...given({ kind, email, display_name: displayName, group_ids: group }) }
        const client = await cli.client()
        const answer = await client.changeUser({ body: { operation: 'create', user: fields }, query: cli.scope })
        printItem(cli, answer.user)
      }),
    'user create deployer --service',
    'user create anna --email anna@example.com --display-name "Anna Berg"',
  )
  examples(
    reason(user.command('update <user>').description('change a user; fields that are not given stay'))
      .option('--username <name>')
      .option('--email <address>')
      .option('--no-email', 'no address')
      .option('--display-name <name>')
      .option('--group <group...>', 'its new groups, instead of the present ones')
      .option('--no-group', 'no groups')
      .action((user_id: string, options: Update) => update(cli, user_id, options)),
    'user update anna --email anna@example.com --display-name "Anna Berg"',
    'user update anna --no-group',
  )
  for (const [operation, description] of Object.entries(moves) as [Move, string][])
    examples(
      reason(user.command(`${operation} <user...>`).description(description)).action(
        (ids: string[], options: { reason?: string }) => change(cli, operation, ids, options.reason),
      ),
      `user ${operation} anna`,
    )
  examples(
    reason(
      user
        .command('delete <user...>')
        .description('delete users for good: their sessions end, and their devices are revoked'),
    )
      .option('--yes', 'do not ask for confirmation')
      .action(async (ids: string[], options: { reason?: string; yes?: boolean }) => {
        await cli.sure(options.yes, `Deleting is final. Delete ${ids.join(', ')}?`)
        await change(cli, 'delete', ids, options.reason)
      }),
    'user delete anna --reason "left the company"',
  )
  examples(
    reason(
      user
        .command('break-glass <user>')
        .description('allow a local user to sign in with a password while login.enforce_sso is on'),
    )
      .option('--off', 'no longer')
      .action(async (user_id: string, { off = false, reason: why }: { off?: boolean; reason?: string }) => {
        const body = { user_id, break_glass: !off, ...given({ reason: why }) }
        const answer = await (await cli.client()).setBreakGlass({ body, query: cli.scope })
        if (!answer.changed) cli.note('No change.')
        printItem(cli, answer.user)
      }),
    'user break-glass emergency --reason "kept in the safe"',
    'user break-glass emergency --off',
  )
  addUserPassword(user, cli)
  addUserLinks(user, cli)
}

const moves = {
  suspend: 'suspend users: their sessions end, and their devices have no access until they are reactivated',
  reactivate: 'reactivate suspended users',
  unlock: 'unlock accounts that failed sign-ins have locked',
} as const
type Move = keyof typeof moves

async function change(cli: Cli, operation: Move | 'delete', ids: string[], why: string | undefined): Promise<void> {
  const client = await cli.client()
  for (const user_id of ids) {
    const input = { body: { user_id, ...given({ reason: why }) }, query: cli.scope }
    const { changed, user, ended, warnings = [] } = await carryOut()
    noteWarnings(cli, { warnings })
    const about = [
      operation === 'delete' ? 'deleted' : stateOf(user),
      ...(ended ? [countText(ended, 'session', 'ended')] : []),
    ]
    cli.say(cli.json ? jsonText(user) : `${user.user_id}  ${about.join(', ')}${changed ? '' : '  (unchanged)'}`)

    type Done = { changed: boolean; user: User; ended?: number; warnings?: readonly { message: string }[] }
    async function carryOut(): Promise<Done> {
      if (operation === 'suspend') {
        const answer = await client.suspendUser(input)
        return { ...answer, ended: answer.sessions_terminated ?? 0 }
      }
      if (operation === 'reactivate') return client.reactivateUser(input)
      if (operation === 'unlock') return client.unlockUser(input)
      return client.changeUser({ ...input, body: { operation, ...input.body } })
    }
  }
}

type Update = {
  username?: string
  email?: string | false
  displayName?: string
  group?: string[] | false
  reason?: string
}

async function update(cli: Cli, user_id: string, options: Update): Promise<void> {
  const { username, email, displayName, group, reason: why } = options
  const fields = given({
    username,
    email: email === false ? null : email,
    display_name: displayName,
    group_ids: group === false ? [] : group,
  })
  if (Object.keys(fields).length === 0) throw new UsageError('Nothing to change; see: holdfast user update --help')
  const body = { operation: 'update', user_id, user: fields, ...given({ reason: why }) } as const
  const answer = await (await cli.client()).changeUser({ body, query: cli.scope })
  if (!answer.changed) cli.note('No change.')
  printItem(cli, answer.user)
}
