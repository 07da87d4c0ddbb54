import type { Contract, Output } from '@holdfast/contract'
import { type RetentionClass, retentionClasses } from '@holdfast/contract/vocabulary'
import { changeRetention } from '@holdfast/sdk'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { examples } from '../options.ts'
import { type Column, printAll, printItem } from '../output.ts'

type Retention = Output<Contract['getRetention']>
type Status = Retention['classes'][number]
const columns: readonly Column<Status>[] = [
  ['CLASS', (c) => c.class],
  ['DAYS', (c) => c.days ?? 'for good'],
  ['SET BY', (c) => c.source],
  ['OLDEST', (c) => c.oldest],
  ['ROWS', (c) => `${c.rows_are === 'estimated' ? 'about ' : ''}${c.rows}`],
  ['OVERDUE', (c) => (c.over === 10_000 ? '10000 or more' : c.over)],
  ['BYTES', (c) => `about ${c.bytes}`],
  ['LAST PURGE', (c) => c.last_purge?.at ?? null],
  ['NEXT PURGE', (c) => c.next_purge],
  ['LEGAL HOLD', (c) => c.legal_hold],
]

export function addRetention(program: Command, cli: Cli): void {
  const retention = program.command('retention').description('Manage how long data is kept')
  examples(
    retention
      .command('show', { isDefault: true })
      .description(
        'Show the retention of each class of data\n\nIt shows the days of retention, the amount of data and the purges.',
      )
      .action(async () => print(cli, await (await cli.client()).getRetention({ query: cli.scope }))),
    'retention show',
    'retention show --json | jq .record_begins_after',
  )
  examples(
    retention
      .command('set')
      .description('Change the retention of classes of data\n\nA shorter period takes effect after 24 hours.')
      .argument(
        '<class=days...>',
        `class and its days of retention; no number means the default of the deployment; classes: ${retentionClasses.join(', ')}`,
      )
      .option('--dry-run', 'show the changes without making them')
      .action(async (texts: string[], { dryRun: dry_run = false }: { dryRun?: boolean }) => {
        const named = Object.fromEntries(texts.map(parseDays))
        if (Object.keys(named).length < texts.length) throw new UsageError('A class is set twice.')
        print(cli, await changeRetention(await cli.client(), named, { query: cli.scope, dry_run }))
      }),
    'retention set telemetry=14 --dry-run',
    'retention set audit=365 telemetry=14',
    'retention set telemetry=',
  )
}

async function print(cli: Cli, { classes, ...more }: Retention): Promise<void> {
  if (cli.json) return printItem(cli, { ...more, classes })
  await printAll(cli, columns, classes)
  if (more.settles_at !== null)
    cli.note(`A period was shortened less than a day ago: nothing is purged before ${more.settles_at}.`)
  if (more.clock_trusted_from !== null)
    cli.note(`The clock jumped or is wrong: nothing is purged before ${more.clock_trusted_from}.`)
}

function parseDays(text: string): [RetentionClass, number | null] {
  const [, name, days = ''] = /^([a-z_]+)=(\d{0,6})$/.exec(text) ?? []
  const known = retentionClasses.find((c) => c === name)
  if (known === undefined)
    throw new UsageError(`${text}: it must look like class=days; classes are ${retentionClasses.join(', ')}.`)
  return [known, days === '' ? null : Number(days)]
}
