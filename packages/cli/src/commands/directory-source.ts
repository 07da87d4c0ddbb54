import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Contract, Output } from '@holdfast/contract'
import { directorySourceKinds } from '@holdfast/contract/vocabulary'
import { changeDirectorySource } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined, UsageError } from '../exit.ts'
import { choice, examples, integer, limit, reason } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { readAll } from '../prompt.ts'
import { nextOfHeld, printRun, progressOf } from './directory-run.ts'

type Source = Output<Contract['getDirectorySource']>
const columns: readonly Column<Source>[] = [
  ['SOURCE', (s) => s.source_id],
  ['DIRECTORY', (s) => s.provider],
  ['KIND', (s) => s.kind],
  ['ISSUER', (s) => s.issuer],
  ['ENABLED', (s) => s.enabled],
  ['NEXT PULL', (s) => s.next_run_at],
  ['FAILING SINCE', (s) => s.failing_since],
]
type Settings = {
  issuer?: string
  clientId?: string
  credential?: boolean
  credentialFile?: string
  every?: number
  users?: Source['users']
  groups?: string[]
  enable?: boolean
  disable?: boolean
}

const settings = (command: Command): Command =>
  command
    .option('--credential', 'read the client secret from a prompt or one line of stdin')
    .option('--credential-file <file>', 'file with the whole credential, such as a private key; - is stdin')
    .option('--every <minutes>', 'interval between pulls in minutes; default: 60', integer(15, 1440))
    .addOption(
      choice('--users <which>', 'users to import: all, or only members of imported groups', ['all', 'in_groups']),
    )
    .option('--groups <name...>', 'groups to import: names (* at the end matches any rest), "all" or "none"')

async function bodyOf(cli: Cli, options: Settings) {
  const { enable, disable, groups } = options
  if (enable && disable) throw new UsageError('Use either --enable or --disable.')
  const [one, ...more] = groups ?? []
  const take: Source['groups']['take'] = more.length === 0 && (one === 'all' || one === 'none') ? one : 'listed'
  return given({
    issuer: options.issuer,
    client_id: options.clientId,
    credential: await credentialOf(cli, options),
    interval_minutes: options.every,
    users: options.users,
    groups: groups && { take, names: take === 'listed' ? groups : [] },
    enabled: enable ? true : disable ? false : undefined,
  })
}
async function credentialOf(cli: Cli, { credential, credentialFile: file }: Settings): Promise<string | undefined> {
  if (file === undefined) return credential ? cli.prompt.newSecret('Credential') : undefined
  try {
    return (file === '-' ? await readAll(cli.input) : await readFile(file, 'utf8')).trim()
  } catch (e) {
    throw new UsageError(`${file} can't be read: ${e instanceof Error ? e.message : String(e)}`)
  }
}

/** Adds commands to `holdfast directory`. */
export function addSources(directory: Command, cli: Cli): void {
  const source = directory.command('source').description('Manage directories that this server reads on a schedule')
  limit(examples(source.command('list'), 'directory source list').description('List directory sources')).action(
    async ({ limit: most }: { limit: number }) => {
      const client = await cli.client()
      await printList(cli, most, columns, (page) => client.listDirectorySources({ query: { ...page, ...cli.scope } }))
    },
  )
  examples(
    settings(source.command('create <directory>'))
      .description(
        'Add a directory source\n\nBefore you enable it, check it with "directory source test" and "directory pull --dry-run".',
      )
      .addOption(choice('--kind <kind>', 'directory product', directorySourceKinds).makeOptionMandatory())
      .requiredOption('--issuer <url>', 'URL of the Keycloak realm, the Entra ID issuer or the Okta organisation')
      .requiredOption('--client-id <id>', 'client id of this server at the directory')
      .option('--enable', 'read the directory on its schedule')
      .action(
        async (
          provider: string,
          options: Settings & Required<Pick<Settings, 'issuer' | 'clientId'>> & { kind: Source['kind'] },
        ) => {
          const { kind, issuer, clientId: client_id } = options
          const body = { ...(await bodyOf(cli, options)), provider, kind, issuer, client_id }
          printItem(cli, await (await cli.client()).createDirectorySource({ body, query: cli.scope }))
        },
      ),
    'directory source create corp --kind keycloak --issuer https://login.example/realms/people --client-id sync --credential < secret.txt',
    'directory source create corp --kind okta --issuer https://acme.okta.com --client-id 0oa1 --credential-file key.pem',
  )
  examples(source.command('show <directory>'), 'directory source show corp')
    .description('Show a directory source')
    .action(async (source_id: string) =>
      printItem(cli, await (await cli.client()).getDirectorySource({ params: { source_id }, query: cli.scope })),
    )
  examples(
    settings(source.command('update <directory>'))
      .description('Change a directory source\n\nOptions that you leave out do not change.')
      .option('--issuer <url>', 'URL of the Keycloak realm, the Entra ID issuer or the Okta organisation')
      .option('--client-id <id>', 'client id of this server at the directory')
      .option('--enable', 'read the directory on its schedule')
      .option('--disable', 'read the directory only on request')
      .action(async (source_id: string, options: Settings) => {
        const named = await bodyOf(cli, options)
        if (Object.keys(named).length === 0)
          throw new UsageError('Nothing to change; see: holdfast directory source update --help')
        const of = { params: { source_id }, query: cli.scope }
        printItem(cli, await changeDirectorySource(await cli.client(), of, named))
      }),
    'directory source update corp --enable --every 30',
    'directory source update corp --groups "/engineering/*" /sales --users in_groups',
  )
  examples(source.command('test <directory>'), 'directory source test corp')
    .description('Test the connection to a directory\n\nIt signs in and reads a few entries. It stores nothing.')
    .action(async (source_id: string) => {
      const found = await (await cli.client()).testDirectorySource({ params: { source_id }, query: cli.scope })
      printItem(cli, found)
      if (!found.ok) throw new Declined()
    })
  examples(
    source
      .command('delete <directory>')
      .description('Delete a directory source\n\nThe server stops reading the directory. Its users and groups stay.')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (source_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete the source ${source_id}?`)
        const client = await cli.client()
        const { changed } = await client.deleteDirectorySource({ params: { source_id }, query: cli.scope })
        if (cli.json) printItem(cli, { source_id, changed })
        else cli.say(`${source_id}  deleted${changed ? '' : '  (unchanged)'}`)
      }),
    'directory source delete corp --yes',
  )
}

type PullOptions = { dryRun?: boolean; confirm?: boolean; wait?: boolean; keycloak?: boolean }
/** Adds commands to `holdfast directory`. */
export function addPull(directory: Command, cli: Cli): void {
  examples(
    directory
      .command('pull [directory]')
      .description(
        'Read a directory now\n\nWithout a name, it reads the only Keycloak source. Exit code 1: the run is held or failed, or was cancelled.',
      )
      .option('--keycloak', 'read the only Keycloak source')
      .option('--dry-run', 'show the changes without making them')
      .option('--confirm', 'apply the changes even if they exceed the safety limits')
      .option('--no-wait', 'return without waiting for the result')
      .action(async (source_id: string | undefined, { dryRun, confirm, wait, keycloak }: PullOptions) => {
        const client = await cli.client()
        const body = given({ dry_run: dryRun, confirm_mass_change: confirm })
        const all = { body, query: cli.scope }
        const { run, begun } = source_id
          ? await client.runDirectorySource({ params: { source_id }, ...all })
          : keycloak
            ? await client.runKeycloakSync(all)
            : await client.runIdpSync(all)
        if (!begun) cli.note('A pull of this directory is already running.')
        if (wait === false) return printRun(cli, run)
        await follow(cli, run.run_id)
      }),
    'directory pull corp --dry-run',
    'directory pull corp',
  )
  examples(
    reason(
      directory
        .command('cancel <run>')
        .description('Cancel a running pull or a held run\n\nNo change of the run is applied.'),
    ),
    'directory cancel run_01jxz3c9dqf7vr2m8k4s6t0b5w',
  ).action(async (run_id: string, options: { reason?: string }) => {
    const body = given({ reason: options.reason })
    const { run, changed } = await (await cli.client()).cancelDirectoryRun({
      params: { run_id },
      body,
      query: cli.scope,
    })
    if (!changed) cli.note('It was already cancelled.')
    printRun(cli, run)
  })
}

/** Waits until the run has a result. */
async function follow(cli: Cli, run_id: string): Promise<void> {
  const client = await cli.client()
  let last = ''
  for (;;) {
    const run = await client.getDirectoryRun({ params: { run_id }, query: cli.scope })
    if (run.status !== 'fetching') {
      printRun(cli, run)
      if (run.status === 'held') cli.note(`Nothing was applied. ${nextOfHeld(run.run_id)}`)
      if (['held', 'failed', 'cancelled'].includes(run.status)) throw new Declined()
      return
    }
    const line = run.progress ? progressOf(run.progress) : ''
    if (line !== last) cli.note(line)
    last = line
    await delay(1000)
  }
}
