import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { offline, readLines } from '../deployment.ts'
import { Declined, UsageError } from '../exit.ts'
import { examples } from '../options.ts'
import { printItem } from '../output.ts'
import { plain } from '../text.ts'

type RestoreOptions = { identity?: string; fence?: true; yes?: true }
/** Limit of listed names. */
const mostNamed = 20

export function addRestore(program: Command, cli: Cli): void {
  examples(
    program
      .command('restore [file]')
      .description('Restore a backup into the empty database\n\nRun it with the environment of the server.')
      .option('--identity <file>', 'file with the identity of a recipient')
      .option('--fence', 'after a point-in-time recovery: advance all sequence numbers past any already issued')
      .option('--yes', 'skip the confirmation prompt')
      .action((file: string | undefined, options: RestoreOptions) =>
        options.fence ? fence(cli, file, options) : restore(cli, file, options),
      ),
    'restore nightly.age --identity backup.key',
    'restore --fence',
  )
}

async function restore(cli: Cli, file: string | undefined, { identity }: RestoreOptions): Promise<void> {
  if (file === undefined || identity === undefined)
    throw new UsageError('Name the backup file, and the identity file with --identity.')
  const identities = await readLines(identity)
  const done = await offline(cli, (deployment, told) => deployment.restore(cli.env, file, identities, told))
  const { head, tenants, missing } = done
  const { taken_at, packages } = head
  printItem(cli, { file, taken_at, tenants, packages: packages.count, missing_packages: missing.length })
  cli.note(
    `Changes after ${taken_at} are lost, including revocations and suspensions. Repeat them; see docs/backup.md.`,
  )
  cli.note(
    'For seven days, nothing is purged and no tenant is deleted. Within that time, place the legal holds again that are newer than the backup.',
  )
  if (missing.length === 0) return
  cli.note(
    `${missing.length} packages are missing or damaged in the package storage. Restore them from their own backup:`,
  )
  for (const name of missing.slice(0, mostNamed)) cli.note(`  ${plain(name)}`)
  throw new Declined()
}

async function fence(cli: Cli, file: string | undefined, { yes }: RestoreOptions): Promise<void> {
  if (file !== undefined) throw new UsageError('--fence works on the present database: leave out the file.')
  await cli.sure(
    yes,
    'End all admin sessions, and advance the sequence numbers of all tenants past any already issued?',
  )
  printItem(cli, await offline(cli, ({ fenceDatabase }, told) => fenceDatabase(cli.env, told)))
}
