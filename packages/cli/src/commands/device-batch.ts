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
  ['WHY', (r) => r.error],
]

export function addDeviceBatch(device: Command, cli: Cli): void {
  examples(
    filtered(reason(device.command('batch').description('one operation on many devices, given by name or by filter')))
      .addArgument(new Argument('<operation>').choices(['approve', 'suspend', 'reactivate', 'revoke']))
      .argument('[device...]', 'the devices; without names, those that the filter finds')
      .option('--dry-run', 'show the result, and change nothing')
      .option('--yes', 'do not ask for confirmation')
      .action((operation: Operation, ids: string[], options: Options) => changeMany(cli, operation, ids, options)),
    'device batch approve --status pending --dry-run',
    'device batch revoke --user anna --reason "left the company" --yes',
  )
}

async function changeMany(cli: Cli, operation: Operation, ids: string[], options: Options): Promise<void> {
  const { reason: why, dryRun, yes, ...rest } = options
  const filter = filterOf(rest)
  const isFiltered = Object.keys(filter).length > 0
  if (ids.length > 0 === isFiltered) throw new UsageError('Give either device names or a filter.')
  if (!dryRun)
    await cli.sure(
      yes,
      isFiltered ? `${operation} every device that matches the filter?` : `${operation} ${ids.join(', ')}?`,
    )
  const chosen = isFiltered ? { filter } : { device_ids: ids }
  const body = { operation, ...chosen, ...given({ reason: why, dry_run: dryRun }) }
  const { results, summary } = await (await cli.client()).changeDevices({ body, query: cli.scope })
  await printAll(cli, columns, results)
  const { changed, unchanged, failed } = summary
  cli.note(`${dryRun ? 'Would be: ' : ''}${changed} changed, ${unchanged} unchanged, ${failed} failed.`)
  if (failed > 0) throw new Declined()
}
