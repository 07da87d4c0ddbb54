import type { Contract, Output } from '@holdfast/contract'
import { Argument, type Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined, UsageError } from '../exit.ts'
import { examples, reason } from '../options.ts'
import { type Column, printAll } from '../output.ts'
import { type Filter, filtered, filterOf } from './device-filter.ts'

type Batch = Output<Contract['changeDevices']>
type Operation = 'approve' | 'suspend' | 'reactivate' | 'revoke'
type Options = Filter & { reason?: string; dryRun?: boolean; yes?: boolean }
const columns: readonly Column<Batch['results'][number]>[] = [
  ['DEVICE', (r) => r.device_id],
  ['OUTCOME', (r) => r.outcome],
  ['ERROR', (r) => r.error],
]

export function addDeviceBatch(device: Command, cli: Cli): void {
  examples(
    filtered(
      reason(
        device
          .command('batch')
          .description('Change many devices at once\n\nName the devices, or select them with the filter options.'),
      ),
    )
      .addArgument(
        new Argument('<operation>', 'change of each device').choices(['approve', 'suspend', 'reactivate', 'revoke']),
      )
      .argument('[device...]', 'devices; leave them out to use the filter options')
      .option('--dry-run', 'show the changes without making them')
      .option('--yes', 'skip the confirmation prompt')
      .action((operation: Operation, ids: string[], options: Options) => changeMany(cli, operation, ids, options)),
    'device batch approve --status pending --dry-run',
    'device batch revoke --user anna --reason "left the company" --yes',
  )
}

async function changeMany(cli: Cli, operation: Operation, ids: string[], options: Options): Promise<void> {
  const { reason: why, dryRun, yes, ...rest } = options
  const filter = filterOf(rest)
  const isFiltered = Object.keys(filter).length > 0
  if (ids.length > 0 === isFiltered) throw new UsageError('Name devices or use filter options, not both.')
  const verb = operation.replace(/^./, (letter) => letter.toUpperCase())
  if (!dryRun)
    await cli.sure(yes, isFiltered ? `${verb} every device that matches the filter?` : `${verb} ${ids.join(', ')}?`)
  const chosen = isFiltered ? { filter } : { device_ids: ids }
  const body = { operation, ...chosen, ...given({ reason: why, dry_run: dryRun }) }
  const { results, summary } = await (await cli.client()).changeDevices({ body, query: cli.scope })
  await printAll(cli, columns, results)
  const { changed, unchanged, failed } = summary
  cli.note(`${dryRun ? 'Dry run: ' : ''}${changed} changed, ${unchanged} unchanged, ${failed} failed.`)
  if (failed > 0) throw new Declined()
}
