import type { Contract, Output } from '@holdfast/contract'
import { expiryStatuses, expiryTypes } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
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
  ['RENEWS ITSELF', (e) => (e.renews_itself ? 'yes' : 'no')],
]

/** Rounds up to whole days. */
const daysIn = (seconds: number): number => Math.ceil(seconds / 86_400)

export function addExpiry(program: Command, cli: Cli): void {
  const expiry = program.command('expiry').description('expiring certificates, keys, secrets and license')
  limit(
    examples(expiry.command('list'), 'expiry list --within 30d', 'expiry list --type api_key --status expired')
      .description('list everything that expires, soonest first')
      .addOption(choice('--type <type>', 'only these', expiryTypes))
      .addOption(choice('--status <status>', 'only these', expiryStatuses))
      .option(
        '--within <duration>',
        'only items that expire within this time or have expired; in whole days',
        duration,
      ),
  ).action(async ({ limit: most, within, ...filter }: ListOptions) => {
    const client = await cli.client()
    const query = { ...given({ ...filter, within_days: within && daysIn(within) }), ...cli.scope }
    await printList(cli, most, columns, (page) => client.listExpiries({ query: { ...query, ...page } }))
  })
  limit(
    examples(expiry.command('check'), 'expiry check --within 14d')
      .description('list items that need a renewal by a person soon; exit code 1 if there are any, for monitoring')
      .option('--within <duration>', 'time limit, in whole days', duration, 30 * 86_400),
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
