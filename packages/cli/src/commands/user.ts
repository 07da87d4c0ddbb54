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
  ['LAST SIGN-IN', (u) => u.last_login_at],
]
const stateOf = ({ status, locked_until }: User): string => (locked_until === null ? status : `${status}, locked`)

const sorts = sortsOf('username', 'created_at', 'last_login_at')
type Filter = {
  status?: User['status']
  kind?: User['kind']
  source?: User['source']
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
    .addOption(choice('--status <status>', 'only users with this status', ['active', 'suspended']))
    .addOption(choice('--kind <kind>', 'only people, or only service accounts', ['person', 'service']))
    .addOption(choice('--source <source>', 'only users from this source', ['local', 'directory', 'sso']))
    .option('--group <group>', 'only users in this group')
    .addOption(choice('--role <role>', 'only users with this role', roleNames))
    .addOption(choice('--mfa <yes|no>', 'only users with (yes) or without (no) a second factor', ['yes', 'no']))
    .addOption(
      choice('--locked <yes|no>', 'only users that failed sign-ins have locked (yes) or not locked (no)', [
        'yes',
        'no',
      ]),
    )
    .addOption(choice('--has-devices <yes|no>', 'only users with (yes) or without (no) devices', ['yes', 'no']))
    .option('--q <prefix>', 'only names that begin with this text')

const filterOf = ({ group, mfa, locked, hasDevices, ...rest }: Filter) =>
  given({ ...rest, group_id: group, mfa: said(mfa), locked: said(locked), has_devices: said(hasDevices) })

export function addUser(program: Command, cli: Cli): void {
  const user = program.command('user').description('Manage users')
  examples(
    sort(filtered(limit(user.command('list').description('List users'))), sorts).action(
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
    filtered(user.command('facets').description('Count users for each value of each filter')).action(
      async ({ sort: _, ...options }: Filter) =>
        printFacets(cli, await (await cli.client()).listUserFacets({ query: { ...filterOf(options), ...cli.scope } })),
    ),
    'user facets',
  )
  examples(
    user
      .command('show <user>')
      .description('Show a user')
      .action(async (user_id: string) =>
        printItem(cli, await (await cli.client()).getUser({ params: { user_id }, query: cli.scope })),
      ),
    'user show anna',
  )
  examples(
    user
      .command('create <username>')
      .description('Create a user')
      .option('--service', 'create a service account for a program: no password, no sign-in; it may own API keys')
      .option('--email <address>', 'e-mail address of the user')
      .option('--display-name <name>', 'display name of the user')
      .option('--group <group...>', 'groups of the user')
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
    reason(user.command('update <user>').description('Change a user\n\nOptions that you leave out do not change.'))
      .option('--username <name>', 'new username')
      .option('--email <address>', 'e-mail address of the user')
      .option('--no-email', 'remove the e-mail address')
      .option('--display-name <name>', 'display name of the user')
      .option('--group <group...>', 'groups that replace the present ones')
      .option('--no-group', 'remove the user from all groups')
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
        .description('Delete users for good\n\nTheir sessions end, and their devices are revoked.'),
    )
      .option('--yes', 'skip the confirmation prompt')
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
        .description(
          'Allow a user to sign in with a password despite SSO\n\nThe user is a local one. It matters while login.enforce_sso is on.',
        ),
    )
      .option('--off', 'end the permission')
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
  suspend: 'Suspend users\n\nTheir sessions end. Their devices have no access until you reactivate the users.',
  reactivate: 'Reactivate suspended users',
  unlock: 'Unlock users that failed sign-ins have locked',
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
