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
      .description('bring a backup into the empty database of this deployment; run with the environment of the server')
      .option('--identity <file>', 'the identity of a recipient of the backup')
      .option('--fence', 'after a database was set back by other means: take all tenants past what they gave out')
      .option('--yes', 'do not ask')
      .action((file: string | undefined, options: RestoreOptions) =>
        options.fence ? fence(cli, file, options) : restore(cli, file, options),
      ),
    'restore nightly.age --identity backup.key',
    'restore --fence',
  )
}

async function restore(cli: Cli, file: string | undefined, { identity }: RestoreOptions): Promise<void> {
  if (file === undefined || identity === undefined)
    throw new UsageError('Name the backup, and with --identity the file that reads it.')
  const identities = await readLines(identity)
  const done = await offline(cli, (deployment, told) => deployment.restore(cli.env, file, identities, told))
  const { head, tenants, missing } = done
  const { taken_at, packages } = head
  printItem(cli, { file, taken_at, tenants, packages: packages.count, missing_packages: missing.length })
  cli.note(`What was revoked, suspended or changed after ${taken_at} is as it was before that: see docs/backup.md.`)
  cli.note('Nothing is purged, and no tenant deleted, for seven days: set legal holds of after that again by then.')
  if (missing.length === 0) return
  cli.note(`${missing.length} packages are not where they are kept, or not as they were put there:`)
  for (const name of missing.slice(0, mostNamed)) cli.note(`  ${plain(name)}`)
  throw new Declined()
}

async function fence(cli: Cli, file: string | undefined, { yes }: RestoreOptions): Promise<void> {
  if (file !== undefined) throw new UsageError('--fence takes no file: it concerns the database as it is.')
  await cli.sure(yes, 'End all sessions of administrators and take all tenants past every number they gave out?')
  printItem(cli, await offline(cli, ({ fenceDatabase }, told) => fenceDatabase(cli.env, told)))
}
