import type { Contract, Output } from '@holdfast/contract'
import { type LockTarget, lockTargets } from '@holdfast/contract/vocabulary'
import { Argument, type Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, duration, examples, limit, reason } from '../options.ts'
import { type Column, noteWarnings, printItem, printList } from '../output.ts'

type Lock = Output<Contract['getLock']>
type Create = { reason: string; expires?: number; yes?: boolean }
const columns: readonly Column<Lock>[] = [
  ['LOCK', (l) => l.lock_id],
  ['TARGET', (l) => l.target.type],
  ['NAME', (l) => l.target.name ?? l.target.id],
  ['STATUS', (l) => l.status],
  ['SINCE', (l) => l.created_at],
  ['EXPIRES', (l) => l.expires_at],
  ['REASON', (l) => l.reason],
]

export function addLock(program: Command, cli: Cli): void {
  const lock = program
    .command('lock')
    .description('Manage locks\n\nA lock blocks a user, device, group, gateway or tenant at once.')
  limit(examples(lock.command('list').description('List locks'), 'lock list', 'lock list --status all'))
    .addOption(
      choice('--status <status>', 'only locks with this status; default: active', ['active', 'released', 'all']),
    )
    .addOption(choice('--type <type>', 'only locks on this type of target', lockTargets))
    .action(async (options: { limit: number; status?: 'active' | 'released' | 'all'; type?: LockTarget }) => {
      const client = await cli.client()
      const query = { ...given({ status: options.status, target_type: options.type }), ...cli.scope }
      await printList(cli, options.limit, columns, (page) => client.listLocks({ query: { ...query, ...page } }))
    })
  examples(lock.command('show <lock>').description('Show a lock'), 'lock show lck_01jxz3c9dqf7vr2m8k4s6t0b5w').action(
    async (lock_id: string) =>
      printItem(cli, await (await cli.client()).getLock({ params: { lock_id }, query: cli.scope })),
  )
  examples(
    lock
      .command('create')
      .description(
        'Lock a user, device, group, gateway or tenant\n\nA lock of a group blocks its devices. A lock of the tenant blocks all devices.',
      )
      .addArgument(new Argument('<type>', 'type of the target').choices(lockTargets))
      .argument('[target]', 'target (name or id); leave it out for the tenant')
      .requiredOption('--reason <text>', 'reason, recorded in the audit log')
      .option('--expires <duration>', 'duration of the lock, e.g. 24h; default: until it is released', duration)
      .option('--yes', 'skip the confirmation prompt')
      .action((type: LockTarget, id: string | undefined, options: Create) =>
        create(cli, { type, ...given({ id }) }, options),
      ),
    'lock create device laptop --reason lost',
    'lock create user anna --reason phished --expires 24h',
    'lock create tenant --reason "ransomware at work" --yes',
  )
  examples(
    reason(lock.command('release <lock>').description('Release a lock')).action(
      async (lock_id: string, { reason: why }: { reason?: string }) => {
        const body = given({ reason: why })
        const answer = await (await cli.client()).releaseLock({ params: { lock_id }, body, query: cli.scope })
        if (!answer.changed) cli.note('It was already released.')
        printItem(cli, cli.json ? answer : answer.lock)
      },
    ),
    'lock release lck_01jxz3c9dqf7vr2m8k4s6t0b5w --reason found',
  )
}

async function create(cli: Cli, target: { type: LockTarget; id?: string }, options: Create): Promise<void> {
  if (target.type === 'tenant') await cli.sure(options.yes, 'Lock every device of the tenant?')
  const body = { target, reason: options.reason, ...given({ expires_in_seconds: options.expires }) }
  const answer = await (await cli.client()).createLock({ body, query: cli.scope })
  if (!answer.changed) cli.note('It was already locked. No change.')
  noteWarnings(cli, answer)
  printItem(cli, cli.json ? answer : answer.lock)
}
