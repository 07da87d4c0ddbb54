import type { Contract, Output } from '@holdfast/contract'
import { platforms } from '@holdfast/contract/enrollment-fields'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, duration, examples, integer, limit, reason, sort, sortsOf } from '../options.ts'
import { type Column, printAll, printItem, printList, printSecret } from '../output.ts'
import { plain } from '../text.ts'

type Token = Output<Contract['getToken']>
const sorts = sortsOf('created_at', 'expires_at', 'name')
type List = { limit: number; status?: Token['status']; q?: string; sort?: (typeof sorts)[number] }
const columns: readonly Column<Token>[] = [
  ['TOKEN', (t) => t.token_id],
  ['NAME', (t) => t.name],
  ['STATUS', (t) => t.status],
  ['USER', (t) => t.user_name],
  ['GROUPS', (t) => t.group_names],
  ['USES', (t) => `${t.uses}/${t.max_uses === 0 ? 'unlimited' : t.max_uses}`],
  ['EXPIRES', (t) => t.expires_at],
  ['LAST ATTEMPT', (t) => lastAttempt(t)],
]
/** Describes the outcome of the last attempt and its reason. */
const lastAttempt = ({ last_attempt: last }: Token): string | null =>
  last ? (last.reason === null ? last.outcome : `${last.outcome}: ${last.reason}`) : null

type Install = Output<Contract['generateToken']>['install_lines']
type InstallRow = { platform: string; line: string; download_url: string | null }
const installColumns: readonly Column<InstallRow>[] = [
  ['PLATFORM', (r) => r.platform],
  ['INSTALL LINE', (r) => r.line],
  ['DOWNLOAD', (r) => r.download_url],
]

type Create = {
  name?: string
  kind?: 'enroll' | 'bootstrap'
  maxUses?: number
  expiresIn?: number
  user?: string
  group?: string[]
  tag?: string[]
  platform?: (typeof platforms)[number][]
  cidr?: string[]
  requiresApproval?: boolean
  ephemeral?: number
  maxDevicesPerUser?: number
  printInstall?: boolean
}

export function addToken(program: Command, cli: Cli): void {
  const token = program.command('token').description('Manage enrollment tokens')
  examples(
    token
      .command('create')
      .description('Create an enrollment token\n\nIts secret is printed once.')
      .option('--name <name>', 'name of the token')
      .addOption(
        choice('--kind <kind>', 'purpose: enroll devices (enroll), or only begin a sign-in (bootstrap)', [
          'enroll',
          'bootstrap',
        ]),
      )
      .option('--max-uses <n>', 'maximum number of uses; 0: unlimited; default: 1', integer(0, 1_000_000))
      .option('--expires-in <duration>', 'lifetime, e.g. 7d; default: 24h', duration)
      .option('--user <user>', 'user that owns the devices')
      .option('--group <group...>', 'groups that the devices join')
      .option('--tag <tag...>', 'tags of the devices')
      .addOption(choice('--platform <platform...>', 'allowed platforms', platforms))
      .option('--cidr <network...>', 'networks that may use the token')
      .option('--requires-approval', 'let the devices wait for approval')
      .option('--ephemeral <duration>', 'revoke the devices after this duration without contact', duration)
      .option(
        '--max-devices-per-user <n>',
        'maximum number of devices for each person; default: unlimited',
        integer(1, 10_000),
      )
      .option('--print-install', 'print an install line for each platform instead of the secret')
      .action((options: Create) => create(cli, options)),
    'token create --name laptops --max-uses 20 --expires-in 7d --tag laptop',
    'token create --json | jq -r .secret',
    'token create --name laptop --print-install --platform linux',
  )
  examples(
    sort(limit(token.command('list').description('List enrollment tokens')), sorts)
      .addOption(
        choice('--status <status>', 'only tokens with this status', ['active', 'exhausted', 'expired', 'revoked']),
      )
      .option('--q <prefix>', 'only names that begin with this text')
      .action(async ({ limit: most, ...rest }: List) => {
        const client = await cli.client()
        const query = { ...given(rest), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listTokens({ query: { ...query, ...page } }))
      }),
    'token list --status active',
  )
  examples(token.command('show <token>'), 'token show laptops')
    .description('Show an enrollment token')
    .action(async (token_id: string) =>
      printItem(cli, await (await cli.client()).getToken({ params: { token_id }, query: cli.scope })),
    )
  reason(
    examples(token.command('revoke <token>'), 'token revoke laptops --reason "posted in a chat"').description(
      'Revoke an enrollment token',
    ),
  ).action(async (token_id: string, options: { reason?: string }) => {
    const client = await cli.client()
    const body = given({ reason: options.reason })
    const answer = await client.revokeToken({ params: { token_id }, query: cli.scope, body })
    if (!answer.changed) cli.note('It was already revoked.')
    printItem(cli, answer.enrollment_token)
  })
}

async function create(cli: Cli, options: Create): Promise<void> {
  const body = given({
    name: options.name,
    kind: options.kind,
    max_uses: options.maxUses,
    expires_in_seconds: options.expiresIn,
    user_id: options.user,
    group_ids: options.group,
    tags: options.tag,
    platforms: options.platform,
    allowed_cidrs: options.cidr,
    requires_approval: options.requiresApproval,
    ephemeral_seconds: options.ephemeral,
    max_devices_per_user: options.maxDevicesPerUser,
  })
  const answer = await (await cli.client()).generateToken({ body, query: cli.scope })
  const { token_id, expires_at } = answer.enrollment_token
  const note = `Enrollment token ${token_id}, valid until ${expires_at}.`
  if (!options.printInstall || cli.json) return printSecret(cli, answer.secret, answer, note)
  const rows = installRows(answer.install_lines)
  if (rows.length === 0) {
    printSecret(cli, answer.secret, answer, note)
    return cli.note('No install line fits this token: it is a bootstrap token or for other platforms.')
  }
  // A single line can be copied or piped unchanged.
  const [first, second] = rows
  if (first && !second) cli.say(plain(first.line))
  else await printAll(cli, installColumns, rows)
  cli.note(`${note} The lines contain its secret. They are shown only this once.`)
}

/** A server of an earlier version returns none. */
const installRows = (lines: Install | undefined): InstallRow[] =>
  Object.entries(lines ?? {}).flatMap(([platform, of]) => (of ? [{ platform, ...of }] : []))
