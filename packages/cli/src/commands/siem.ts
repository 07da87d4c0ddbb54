import { readFile } from 'node:fs/promises'
import type { Contract, Output } from '@holdfast/contract'
import { previousSecretHours } from '@holdfast/contract/limits'
import { siemConnectorKinds, siemFormats } from '@holdfast/contract/vocabulary'
import { changeSiemConnector } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined, UsageError } from '../exit.ts'
import { choice, examples, integer, limit } from '../options.ts'
import { type Column, printItem, printList, printSecret } from '../output.ts'
import { addSiemSending } from './siem-sending.ts'

type Connector = Output<Contract['getSiemConnector']>
const columns: readonly Column<Connector>[] = [
  ['CONNECTOR', (c) => c.connector_id],
  ['NAME', (c) => c.name],
  ['KIND', (c) => c.kind],
  ['RECEIVER', (c) => c.origin ?? `${c.host}:${c.port}`],
  ['STATE', (c) => c.delivery.state],
  ['LAG', (c) => c.delivery.lag_events && `${c.delivery.lag_events} (${c.delivery.lag_seconds} s)`],
  ['DEAD LETTERS', (c) => c.delivery.dead_letters],
  ['LOST', (c) => c.delivery.lost],
]
type Settings = {
  name?: string
  format?: Connector['format']
  endpoint?: string
  host?: string
  port?: number
  index?: string
  username?: string
  credential?: boolean
  ca?: string
  serverName?: string
  bom?: 'on' | 'off'
  enable?: boolean
  disable?: boolean
}

const settings = (command: Command): Command =>
  command
    .option('--endpoint <url>', 'webhook, Splunk, OpenSearch: URL of the receiver, which is never shown again')
    .option('--host <host>', 'syslog: host name or address of the receiver')
    .option('--port <port>', 'syslog: port; default: 6514 with TLS', integer(1, 65_535))
    .option('--index <name>', 'Splunk, OpenSearch: name of the index')
    .option('--username <name>', 'OpenSearch: username; the credential is then a password instead of an API key')
    .option(
      '--credential',
      'read the credential of the receiver from a prompt or one line of stdin; a webhook gets a generated secret',
    )
    .option(
      '--ca <file>',
      'file with certificates (PEM) to trust instead of the public authorities; "none": the public ones again',
    )
    .option('--server-name <name>', 'name in the certificate of the receiver, if it differs from the host')
    .addOption(
      choice(
        '--bom <on|off>',
        'syslog: byte order mark before the text; default: on for cef, off for other formats (JSON in ASCII)',
        ['on', 'off'],
      ),
    )
    .option('--disable', 'send no events')

async function bodyOf(cli: Cli, options: Settings) {
  const { enable, disable, bom, ca, serverName, endpoint: url, host, port, index, username, name, format } = options
  if (enable && disable) throw new UsageError('Use either --enable or --disable.')
  const tls = given({ ca_pem: ca === undefined ? undefined : await pemIn(ca), server_name: serverName })
  const credential = options.credential ? await cli.prompt.newSecret('Credential') : undefined
  return given({
    url,
    host,
    port,
    index,
    username,
    name,
    format,
    credential,
    tls: Object.keys(tls).length > 0 ? tls : undefined,
    bom: bom === undefined ? undefined : bom === 'on',
    enabled: enable ? true : disable ? false : undefined,
  })
}
async function pemIn(file: string): Promise<string | null> {
  if (file === 'none') return null
  try {
    return await readFile(file, 'utf8')
  } catch (e) {
    throw new UsageError(`${file} can't be read: ${e instanceof Error ? e.message : String(e)}`)
  }
}

export function addSiem(program: Command, cli: Cli): void {
  const siem = program.command('siem').description('Manage connectors that forward audit events')
  limit(examples(siem.command('list'), 'siem list').description('List connectors and the state of delivery')).action(
    async ({ limit: most }: { limit: number }) => {
      const client = await cli.client()
      await printList(cli, most, columns, (page) => client.listSiemConnectors({ query: { ...page, ...cli.scope } }))
    },
  )
  examples(
    settings(siem.command('create <name>'))
      .description('Create a connector\n\nIt forwards audit events, beginning with the next one.')
      .addOption(choice('--kind <kind>', 'kind of receiver', siemConnectorKinds).makeOptionMandatory())
      .addOption(choice('--format <format>', 'format of the events', siemFormats).default('json'))
      .action(async (name: string, options: Settings & { kind: Connector['kind']; format: Connector['format'] }) => {
        const { tls, ...others } = await bodyOf(cli, options)
        const whole = tls && { tls: { ca_pem: null, server_name: null, ...tls } }
        const body = { ...others, ...whole, kind: options.kind, name, format: options.format }
        const answer = await (await cli.client()).createSiemConnector({ body, query: cli.scope })
        if (answer.secret === null) return printItem(cli, answer.connector)
        printSecret(cli, answer.secret, answer, `Signing secret of ${name}: the receiver verifies signatures with it.`)
      }),
    'siem create soc --kind syslog_tls --host syslog.example.com --ca ca.pem',
    'siem create splunk --kind splunk_hec --endpoint https://splunk.example.com:8088 --credential < token.txt',
    'siem create hook --kind webhook --endpoint https://soc.example.com/audit > secret.txt',
  )
  examples(siem.command('show <connector>'), 'siem show soc')
    .description('Show a connector')
    .action(async (connector_id: string) =>
      printItem(cli, await (await cli.client()).getSiemConnector({ params: { connector_id }, query: cli.scope })),
    )
  examples(
    settings(siem.command('update <connector>'))
      .description('Change a connector\n\nOptions that you leave out do not change.')
      .option('--name <name>', 'new name')
      .addOption(choice('--format <format>', 'format of the events', siemFormats))
      .option('--enable', 'send events, beginning after the last delivered event')
      .option(
        '--end-previous',
        `webhook: stop signing with the previous secret now instead of after ${previousSecretHours} hours`,
      )
      .action(async (connector_id: string, { endPrevious, ...options }: Settings & { endPrevious?: true }) => {
        const named = { ...(await bodyOf(cli, options)), ...(endPrevious && { keep_previous: false }) }
        if (Object.keys(named).length === 0) throw new UsageError('Nothing to change; see: holdfast siem update --help')
        const of = { params: { connector_id }, query: cli.scope }
        printItem(cli, await changeSiemConnector(await cli.client(), of, named))
      }),
    'siem update soc --format ocsf',
    'siem update splunk --credential < token.txt',
    'siem update hook --end-previous',
  )
  examples(siem.command('test <connector>'), 'siem test soc')
    .description(
      'Send a test event to a receiver\n\nIt shows the answer of the receiver. Exit code 1: the test failed.',
    )
    .action(async (connector_id: string) => {
      const found = await (await cli.client()).testSiemConnector({ params: { connector_id }, query: cli.scope })
      printItem(cli, found)
      if (!found.ok) throw new Declined()
    })
  examples(
    siem
      .command('delete <connector>')
      .description('Delete a connector and its dead letters')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (connector_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete the connector ${connector_id}?`)
        const client = await cli.client()
        const { changed } = await client.deleteSiemConnector({ params: { connector_id }, query: cli.scope })
        if (cli.json) printItem(cli, { connector_id, changed })
        else cli.say(`${connector_id}  deleted${changed ? '' : '  (unchanged)'}`)
      }),
    'siem delete soc --yes',
  )
  addSiemSending(siem, cli)
}
