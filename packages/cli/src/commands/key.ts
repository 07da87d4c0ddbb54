import type { Contract, Output } from '@holdfast/contract'
import { roleNames } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { choice, duration, examples, limit, parseMoment, reason, sort, sortsOf } from '../options.ts'
import { type Column, printItem, printList, printSecret } from '../output.ts'
import { countText } from '../text.ts'

type Key = Output<Contract['listApiKeys']>['items'][number]
type KeyOptions = { role: Key['role']; expiresIn?: number; cidr?: string[]; user?: string; directory?: string }
const sorts = sortsOf('created_at', 'last_used_at')
type List = {
  limit: number
  status?: Key['status']
  role?: Key['role']
  unusedFor?: string
  sort?: (typeof sorts)[number]
}
const columns: readonly Column<Key>[] = [
  ['KEY', (k) => k.key_id],
  ['NAME', (k) => k.name],
  ['ROLE', (k) => k.role],
  ['DIRECTORY', (k) => k.directory],
  ['USER', (k) => k.user_name],
  ['CREATED BY', (k) => k.created_by_name],
  ['STATUS', (k) => k.status],
  ['EXPIRES', (k) => k.expires_at],
  ['LAST USED', (k) => k.last_used_at],
]

export function addKey(program: Command, cli: Cli): void {
  const key = program.command('key').description('Manage API keys')
  examples(
    key
      .command('create <name>')
      .description('Create an API key\n\nIts secret is printed once.')
      .addOption(choice('--role <role>', 'role of the key', roleNames).makeOptionMandatory())
      .option('--expires-in <duration>', 'lifetime, e.g. 90d; default: no expiry', duration)
      .option('--cidr <network...>', 'networks that may use the key')
      .option('--user <user>', 'service account that owns the key; the key stops working with it; default: you')
      .option('--directory <name>', 'directory that the key provisions by SCIM; the key then works only for SCIM')
      .action(async (name: string, options: KeyOptions) => {
        const { role, expiresIn, cidr, user, directory } = options
        const body = {
          name,
          role,
          ...given({ expires_in_seconds: expiresIn, allowed_cidrs: cidr, user_id: user, directory }),
        }
        const answer = await (await cli.client()).createApiKey({ body, query: cli.scope })
        printSecret(cli, answer.secret, answer, `API key ${answer.api_key.key_id} with role ${role}.`)
      }),
    'key create ci --role auditor --expires-in 90d > key.txt',
    'key create entra --role tenant_admin --user provisioning --directory entra > key.txt',
  )
  sort(
    limit(
      examples(
        key.command('list'),
        'key list --status active',
        'key list --unused-for 90d --sort last_used_at',
      ).description('List API keys'),
    ),
    sorts,
  )
    .addOption(choice('--status <status>', 'only keys with this status', ['active', 'expired', 'revoked']))
    .addOption(choice('--role <role>', 'only keys with this role', roleNames))
    .option(
      '--unused-for <duration>',
      'only keys not used for this duration, e.g. 90d, or since this time; includes keys never used',
      parseMoment,
    )
    .action(async ({ limit: most, unusedFor, ...rest }: List) => {
      const client = await cli.client()
      const query = { ...given({ ...rest, unused_for: unusedFor }), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listApiKeys({ query: { ...query, ...page } }))
    })
  reason(
    examples(
      key.command('revoke [key]'),
      'key revoke ci --reason "no longer used"',
      'key revoke --all-of anna --reason phished',
    ).description('Revoke an API key, or all API keys of a user'),
  )
    .option(
      '--all-of <user>',
      'user whose keys are revoked, with all keys and enrollment tokens that the user or one of these keys created',
    )
    .option('--dry-run', 'show the changes without making them; needs --all-of')
    .action((key_id: string | undefined, options: Revoke) =>
      options.allOf === undefined ? revokeOne(cli, key_id, options) : revokeAll(cli, key_id, options.allOf, options),
    )
}

type Revoke = { reason?: string; allOf?: string; dryRun?: boolean }

async function revokeOne(cli: Cli, key_id: string | undefined, { reason: why, dryRun }: Revoke): Promise<void> {
  if (key_id === undefined) throw new UsageError('Name a key, or a user with --all-of.')
  if (dryRun) throw new UsageError('--dry-run needs --all-of.')
  const client = await cli.client()
  const answer = await client.revokeApiKey({ params: { key_id }, body: given({ reason: why }), query: cli.scope })
  if (!answer.changed) cli.note('It was already revoked.')
  printItem(cli, answer.api_key)
}

async function revokeAll(cli: Cli, key_id: string | undefined, user_id: string, options: Revoke): Promise<void> {
  if (key_id !== undefined) throw new UsageError('Give either a key or --all-of.')
  const client = await cli.client()
  const body = { user_id, ...given({ reason: options.reason, dry_run: options.dryRun }) }
  const answer = await client.revokeApiKeysOfUser({ body, query: cli.scope })
  if (cli.json) return printItem(cli, answer)
  const { key_ids, token_ids } = answer
  for (const id of [...key_ids, ...token_ids]) cli.say(id)
  const done = options.dryRun ? 'would be revoked' : 'revoked'
  cli.note(`${countText(key_ids.length, 'API key', done)}, ${countText(token_ids.length, 'enrollment token', done)}.`)
}
