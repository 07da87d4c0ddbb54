import type { Contract, Output } from '@holdfast/contract'
import { releaseChannels, releaseSeverities, releaseStatuses } from '@holdfast/contract/vocabulary'
import { changeDraft } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { addReleaseMoves } from './release-moves.ts'
import { addReleasePackages } from './release-packages.ts'

type Release = Output<Contract['getRelease']>
const columns: readonly Column<Release>[] = [
  ['RELEASE', (r) => r.release_id],
  ['VERSION', (r) => r.version],
  ['CHANNEL', (r) => r.channel],
  ['STATUS', (r) => r.status],
  ['PERCENT', (r) => r.rollout.percent],
  ['PACKAGES', (r) => r.packages],
  ['PUBLISHED', (r) => r.published_at],
]
type Fields = {
  notes?: string
  notesUrl?: string
  severity?: Release['severity']
  mandatory?: boolean
  minFrom?: string
}

const fields = (command: Command): Command =>
  command
    .option('--notes <text>', 'release notes')
    .option('--notes-url <url>', 'URL of the release notes')
    .addOption(choice('--severity <how>', 'how serious it is to miss the update; default: normal', releaseSeverities))
    .option('--mandatory', 'devices with an older version must update')
    .option('--no-mandatory', 'devices with an older version may update')
    .option(
      '--min-from <version>',
      'oldest client version that can update directly, or "none"; older devices get another release first',
    )
const fieldsOf = ({ notes, notesUrl, severity, mandatory, minFrom }: Fields) =>
  given({
    notes,
    notes_url: notesUrl,
    severity,
    mandatory,
    min_from_version: minFrom === 'none' ? null : minFrom,
  })

export function addRelease(program: Command, cli: Cli): void {
  const release = program.command('release').description('Manage releases of the client and their rollout')
  limit(examples(release.command('list'), 'release list --status published').description('List releases'))
    .addOption(choice('--channel <channel>', 'only releases of this channel', releaseChannels))
    .addOption(choice('--status <status>', 'only releases with this status', releaseStatuses))
    .action(async ({ limit: most, ...filters }: { limit: number } & Partial<Pick<Release, 'channel' | 'status'>>) => {
      const client = await cli.client()
      const query = { ...given(filters), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listReleases({ query: { ...query, ...page } }))
    })
  examples(release.command('show <release>'), 'release show 1.4.0')
    .description('Show a release')
    .action(async (release_id: string) =>
      printItem(cli, await (await cli.client()).getRelease({ params: { release_id }, query: cli.scope })),
    )
  examples(
    fields(
      release.command('create <version>').description('Create a release as a draft\n\nThe draft has no packages yet.'),
    )
      .addOption(choice('--channel <channel>', 'channel of the release', releaseChannels).default('canary'))
      .action(async (version: string, { channel, ...options }: Fields & Pick<Release, 'channel'>) => {
        const body = { version, channel, ...fieldsOf(options) }
        printItem(cli, await (await cli.client()).createRelease({ body, query: cli.scope }))
      }),
    'release create 1.4.0 --severity high --notes-url https://example.com/releases/1.4.0',
  )
  examples(
    fields(
      release.command('update <release>').description('Change a draft\n\nOptions that you leave out do not change.'),
    ).action(async (release_id: string, options: Fields) => {
      const named = fieldsOf(options)
      if (Object.keys(named).length === 0)
        throw new UsageError('Nothing to change; see: holdfast release update --help')
      printItem(cli, await changeDraft(await cli.client(), { params: { release_id }, query: cli.scope }, named))
    }),
    'release update 1.4.0 --mandatory',
  )
  examples(
    release
      .command('delete <release>')
      .description('Delete a draft and its packages')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (release_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete the draft ${release_id}?`)
        await (await cli.client()).deleteRelease({ params: { release_id }, query: cli.scope })
        if (cli.json) printItem(cli, { release_id, changed: true })
        else cli.say(`${release_id}  deleted`)
      }),
    'release delete 1.4.0 --yes',
  )
  addReleasePackages(release, cli)
  addReleaseMoves(release, cli)
}
