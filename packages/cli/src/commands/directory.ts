import { readFile } from 'node:fs/promises'
import type { Contract, Input, Output } from '@holdfast/contract'
import { runStatuses } from '@holdfast/contract/directory'
import type { Client } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined, NotFoundError, UsageError } from '../exit.ts'
import { choice, examples, limit, reason } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { walk } from '../pages.ts'
import { readAll } from '../prompt.ts'
import { plain } from '../text.ts'
import { nextOfHeld, printRun } from './directory-run.ts'
import { addPull, addSources } from './directory-source.ts'

type Directory = Output<Contract['getDirectorySyncStatus']>['items'][number]
type Summary = Output<Contract['listDirectoryRuns']>['items'][number]
type Runs = Pick<NonNullable<Input<Contract['listDirectoryRuns']>['query']>, 'provider' | 'status'>
type Snapshot = Input<Contract['ingestDirectorySnapshot']>['body']

const directoryColumns: readonly Column<Directory>[] = [
  ['DIRECTORY', (d) => d.provider],
  ['SOURCE', (d) => d.source],
  ['ACTIVE', (d) => d.users.active],
  ['SUSPENDED', (d) => d.users.suspended],
  ['GROUPS', (d) => d.groups],
  ['LAST RUN', (d) => d.last_run && `${d.last_run.status} ${d.last_run.finished_at ?? d.last_run.started_at}`],
  ['HELD', (d) => d.held_run?.run_id],
]
const runColumns: readonly Column<Summary>[] = [
  ['RUN', (r) => r.run_id],
  ['DIRECTORY', (r) => r.provider],
  ['SOURCE', (r) => r.source],
  ['STATUS', (r) => (r.undone_at ? 'undone' : r.status)],
  ['STARTED', (r) => r.started_at],
  ['USERS', ({ counts: { users: u } }) => `+${u.created} ~${u.updated + u.reactivated} -${u.suspended}`],
  ['MEMBERSHIPS', ({ counts: { memberships: m } }) => `+${m.added} -${m.removed}`],
]

export function addDirectory(program: Command, cli: Cli): void {
  const directory = program.command('directory').description('Sync users and groups from directories')
  examples(
    directory
      .command('push <file>')
      .description(
        'Apply a snapshot of users and groups\n\nThe file is JSON; - is stdin. Exit code 1: the run is held or was cancelled.',
      )
      .option('--dry-run', 'show the changes without making them')
      .option('--confirm', 'apply the changes even if they exceed the safety limits')
      .action((file: string, options: { dryRun?: boolean; confirm?: boolean }) => push(cli, file, options)),
    'directory push corp.json --dry-run',
    'directory push corp.json',
  )
  addPull(directory, cli)
  addSources(directory, cli)
  limit(
    examples(directory.command('status'), 'directory status').description(
      'Show each directory with the result of its last run',
    ),
  ).action(async ({ limit: most }: { limit: number }) => {
    const client = await cli.client()
    await printList(cli, most, directoryColumns, (page) =>
      client.getDirectorySyncStatus({ query: { ...cli.scope, ...page } }),
    )
  })
  limit(
    examples(directory.command('runs'), 'directory runs --provider corp', 'directory runs --status held').description(
      'List sync runs, newest first',
    ),
  )
    .option('--provider <directory>', 'only runs of this directory')
    .addOption(choice('--status <status>', 'only runs with this status', runStatuses))
    .action(async ({ limit: most, provider, status }: { limit: number } & Runs) => {
      const client = await cli.client()
      const query = { ...given({ provider, status }), ...cli.scope }
      if (provider !== undefined) await requireDirectory(client, cli, provider)
      await printList(cli, most, runColumns, (page) => client.listDirectoryRuns({ query: { ...query, ...page } }))
    })
  examples(directory.command('show <run>'), 'directory show run_01jxz3c9dqf7vr2m8k4s6t0b5w')
    .description('Show a sync run and its changes')
    .action(async (run_id: string) =>
      printRun(cli, await (await cli.client()).getDirectoryRun({ params: { run_id }, query: cli.scope })),
    )
  examples(
    reason(
      directory
        .command('confirm <run>')
        .description(
          'Apply a held run\n\nIt is applied to the present state. With SCIM, the server accepts the removals when the provider repeats them within an hour.',
        ),
    )
      .option('--yes', 'skip the confirmation prompt')
      .action(async (run_id: string, options: { reason?: string; yes?: boolean }) => {
        const client = await cli.client()
        const held = await client.getDirectoryRun({ params: { run_id }, query: cli.scope })
        if (!cli.json) printRun(cli, held)
        await cli.sure(options.yes, `Apply ${run_id}?`)
        const body = given({ reason: options.reason })
        printRun(cli, await client.confirmDirectoryRun({ params: { run_id }, body, query: cli.scope }))
      }),
    'directory confirm run_01jxz3c9dqf7vr2m8k4s6t0b5w --reason "the branch was sold"',
  )
  examples(
    reason(
      directory.command('undo <run>').description('Undo the newest run\n\nIt undoes suspensions and group changes.'),
    )
      .option('--yes', 'skip the confirmation prompt')
      .action(async (run_id: string, options: { reason?: string; yes?: boolean }) => {
        await cli.sure(options.yes, `Undo ${run_id}?`)
        const body = given({ reason: options.reason })
        const answer = await (await cli.client()).undoDirectoryRun({ params: { run_id }, body, query: cli.scope })
        if (cli.json) return printItem(cli, answer)
        if (!answer.changed) cli.note('It was already undone.')
        const { undone, left } = answer
        cli.say(
          `reactivated ${undone.users_reactivated} users, restored ${undone.memberships_added} memberships, removed ${undone.memberships_removed}`,
        )
        const stays = Object.entries(left).filter(([, n]) => n > 0)
        if (stays.length > 0) cli.say(`not undone: ${stays.map(([what, n]) => `${n} ${plain(what)}`).join(', ')}`)
      }),
    'directory undo run_01jxz3c9dqf7vr2m8k4s6t0b5w --reason "the export was cut short"',
  )
}

/** Checks the name, since the server returns no runs and no error for an unknown directory. */
async function requireDirectory(client: Client, cli: Cli, name: string): Promise<void> {
  const directories = walk(
    (page) => client.getDirectorySyncStatus({ query: { ...cli.scope, ...page } }),
    ({ provider }) => provider,
  )
  for await (const provider of directories) if (provider === name) return
  throw new NotFoundError(`There is no directory called ${name}; see: holdfast directory status`)
}

async function push(cli: Cli, file: string, options: { dryRun?: boolean; confirm?: boolean }): Promise<void> {
  const source = file === '-' ? 'stdin' : file
  let snapshot: Snapshot
  try {
    snapshot = JSON.parse(file === '-' ? await readAll(cli.input) : await readFile(file, 'utf8')) as Snapshot
  } catch (error) {
    throw new UsageError(`${source} can't be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  const body = { ...snapshot, ...given({ dry_run: options.dryRun, confirm_mass_change: options.confirm }) }
  const run = await (await cli.client()).ingestDirectorySnapshot({ body, query: cli.scope })
  printRun(cli, run)
  if (run.status === 'held') cli.note(`Nothing was applied. ${nextOfHeld(run.run_id)}`)
  if (run.status === 'held' || run.status === 'cancelled') throw new Declined()
}
