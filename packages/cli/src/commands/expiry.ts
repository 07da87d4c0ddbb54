import type { Contract, Output } from '@holdfast/contract'
import { expiryStatuses, expiryTypes } from '@holdfast/contract/vocabulary'
import { type Command, Option } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined } from '../exit.ts'
import { choice, duration, examples, limit } from '../options.ts'
import { type Column, printList } from '../output.ts'

type Expiry = Output<Contract['listExpiries']>['items'][number]
type ListOptions = { limit: number; within?: number } & Partial<Pick<Expiry, 'type' | 'status'>>
const columns: readonly Column<Expiry>[] = [
  ['TYPE', (e) => e.type],
  ['ID', (e) => e.id],
  ['NAME', (e) => e.name],
  ['EXPIRES', (e) => e.expires_at],
  ['DAYS LEFT', (e) => e.days_left],
  ['STATUS', (e) => e.status],
  ['AUTO-RENEWED', (e) => (e.renews_itself ? 'yes' : 'no')],
]

/** Rounds up to whole days. */
const daysIn = (seconds: number): number => Math.ceil(seconds / 86_400)

export function addExpiry(program: Command, cli: Cli): void {
  const expiry = program.command('expiry').description('Find certificates, keys, secrets and licenses that expire')
  limit(
    examples(expiry.command('list'), 'expiry list --within 30d', 'expiry list --type api_key --status expired')
      .description('List everything that expires, soonest first')
      .addOption(choice('--type <type>', 'only items of this type', expiryTypes))
      .addOption(choice('--status <status>', 'only items with this status', expiryStatuses))
      .option(
        '--within <duration>',
        'only items that have expired or expire within this duration, rounded up to days',
        duration,
      ),
  ).action(async ({ limit: most, within, ...filter }: ListOptions) => {
    const client = await cli.client()
    const query = { ...given({ ...filter, within_days: within && daysIn(within) }), ...cli.scope }
    await printList(cli, most, columns, (page) => client.listExpiries({ query: { ...query, ...page } }))
  })
  limit(
    examples(expiry.command('check'), 'expiry check --within 14d')
      .description(
        'List items that a person must renew soon\n\nIt is for monitoring. Exit code 1: there are such items.',
      )
      .addOption(
        new Option('--within <duration>', 'duration until the expiry, rounded up to days')
          .argParser(duration)
          .default(30 * 86_400, '30d'),
      ),
  ).action(async ({ limit: most, within }: { limit: number; within: number }) => {
    const client = await cli.client()
    const query = { renews_itself: false, within_days: daysIn(within), ...cli.scope }
    let found = 0
    await printList(cli, most, columns, async (page) => {
      const answer = await client.listExpiries({ query: { ...query, ...page } })
      found += answer.items.length
      return answer
    })
    if (found > 0) throw new Declined()
  })
}
