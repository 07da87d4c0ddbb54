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
  ['OVER', (c) => (c.over === 10_000 ? '10000 or more' : c.over)],
  ['BYTES', (c) => `about ${c.bytes}`],
  ['LAST PURGE', (c) => c.last_purge?.at ?? null],
  ['NEXT PURGE', (c) => c.next_purge],
  ['LEGAL HOLD', (c) => c.legal_hold],
]

export function addRetention(program: Command, cli: Cli): void {
  const retention = program.command('retention').description('for how long data is kept, and what was purged')
  examples(
    retention
      .command('show', { isDefault: true })
      .description('each class of data: its days, how much there is, its purges')
      .action(async () => print(cli, await (await cli.client()).getRetention({ query: cli.scope }))),
    'retention show',
    'retention show --json | jq .record_begins_after',
  )
  examples(
    retention
      .command('set')
      .description('change for how many days the classes named are kept; what is made shorter counts a day later')
      .argument('<class=days...>', `${retentionClasses.join(', ')}; nothing after = is what the deployment says`)
      .option('--dry-run', 'say what would be over by it, and change nothing')
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
  if (more.settles_at !== null) cli.note(`Made shorter lately: nothing is purged before ${more.settles_at}.`)
  if (more.clock_trusted_from !== null)
    cli.note(`The clock leapt, or is off: nothing is purged before ${more.clock_trusted_from}.`)
}

function parseDays(text: string): [RetentionClass, number | null] {
  const [, name, days = ''] = /^([a-z_]+)=(\d{0,6})$/.exec(text) ?? []
  const known = retentionClasses.find((c) => c === name)
  if (known === undefined)
    throw new UsageError(`${text}: it must look like class=days; classes are ${retentionClasses.join(', ')}.`)
  return [known, days === '' ? null : Number(days)]
}
