import { setTimeout as delay } from 'node:timers/promises'
import type { Contract, Output } from '@holdfast/contract'
import type { Client } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined, UsageError } from '../exit.ts'
import { examples, integer, limit, parseMoment } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { plain } from '../text.ts'

type DeadLetter = Output<Contract['listSiemDeadLetters']>['items'][number]
const columns: readonly Column<DeadLetter>[] = [
  ['SEQ', (d) => d.seq],
  ['EVENT', (d) => d.event_id],
  ['KIND', (d) => d.kind],
  ['TIME', (d) => d.failed_at],
  ['REASON', (d) => d.reason],
  ['REPLAYING', (d) => d.replaying],
]
type Replay = { from?: string; fromSeq?: number; deadLetters?: string[] | true }
type Export = { from: string; to?: string; wait: boolean }

/** Adds commands to `holdfast siem`. */
export function addSiemSending(siem: Command, cli: Cli): void {
  examples(
    siem
      .command('replay <connector>')
      .description(
        'Send audit events to a connector again\n\nIt sends all events from a time or sequence number on, in order. Or it sends dead letters.',
      )
      .option('--from <time>', 'start: a time, or a duration before now, e.g. 24h', parseMoment)
      .option('--from-seq <seq>', 'first sequence number to send', integer(1, Number.MAX_SAFE_INTEGER))
      .option('--dead-letters [seq...]', 'sequence numbers of dead letters; default: all dead letters')
      .action(async (connector_id: string, { from, fromSeq, deadLetters }: Replay) => {
        const body = given({
          from,
          from_seq: fromSeq,
          dead_letters: deadLetters === true ? ('all' as const) : deadLetters?.map(placeIn),
        })
        if (Object.keys(body).length !== 1)
          throw new UsageError('Use exactly one of --from, --from-seq and --dead-letters.')
        const params = { connector_id }
        const answer = await (await cli.client()).replaySiemConnector({ params, body, query: cli.scope })
        cli.note(`${answer.events} events are sent again.`)
        printItem(cli, answer.connector)
      }),
    'siem replay soc --from 2h',
    'siem replay soc --dead-letters',
  )
  examples(
    siem
      .command('set-aside <connector>')
      .description(
        'Set aside the event that blocks a connector\n\nThe event becomes a dead letter, and the connector continues after it.',
      )
      .option(
        '--seq <seq>',
        'sequence number of the event; default: the blocking event',
        integer(1, Number.MAX_SAFE_INTEGER),
      )
      .option('--yes', 'skip the confirmation prompt')
      .action(async (connector_id: string, { seq: given, yes }: { seq?: number; yes?: boolean }) => {
        const client = await cli.client()
        const params = { connector_id }
        const { delivery } = await client.getSiemConnector({ params, query: cli.scope })
        const seq = given ?? delivery.next_seq
        if (seq === null)
          throw new UsageError(`${connector_id} is not blocked by a single event. Add the sequence number with --seq.`)
        if (!yes) await cli.sure(yes, `Set aside ${await eventAt(client, cli, seq)}?`)
        const answer = await client.setAsideSiemEvent({ params, body: { seq }, query: cli.scope })
        if (!answer.changed) cli.note('It was already set aside. No change.')
        printItem(cli, answer.connector)
      }),
    'siem set-aside soc',
    'siem set-aside soc --seq 4711 --yes',
  )
  examples(limit(siem.command('dead-letters <connector>')), 'siem dead-letters soc')
    .description(
      'List the dead letters of a connector\n\nThese are events that the receiver refused, with the reasons.',
    )
    .action(async (connector_id: string, { limit: most }: { limit: number }) => {
      const client = await cli.client()
      const params = { connector_id }
      await printList(cli, most, columns, (page) =>
        client.listSiemDeadLetters({ params, query: { ...page, ...cli.scope } }),
      )
    })
  examples(
    siem
      .command('export <connector>')
      .description('Send the events of a period to a webhook again\n\nExit code 1: the export failed.')
      .requiredOption('--from <time>', 'start: a time, or a duration before now, e.g. 24h', parseMoment)
      .option('--to <time>', 'end: a time, or a duration before now, e.g. 2h; default: now', parseMoment)
      .option('--no-wait', 'return without waiting for the result')
      .action(async (connector_id: string, { from, to, wait }: Export) => {
        const client = await cli.client()
        const begun = await client.exportAuditToWebhook({
          query: { connector_id, from, ...given({ to }), ...cli.scope },
        })
        const params = { export_id: begun.export_id }
        let last = begun
        for (; wait && last.finished_at === null; await delay(1000)) {
          last = await client.getAuditWebhookExport({ params, query: cli.scope })
          cli.note(`${last.delivered} of ${last.events ?? '?'} events`)
        }
        printItem(cli, last)
        if (last.status === 'failed') throw new Declined()
      }),
    'siem export hook --from 24h',
  )
  examples(siem.command('schema'), 'siem schema --json')
    .description('Print the JSON Schemas of connectors and events')
    .action(async () => printItem(cli, await (await cli.client()).getSiemSchema({ query: cli.scope })))
}

/** Describes the event with this sequence number in one line. */
async function eventAt(client: Client, cli: Cli, seq: number): Promise<string> {
  const query = { sort: 'seq', after_seq: seq - 1, limit: 1, ...cli.scope } as const
  const [event] = (await client.listAuditEvents({ query })).items
  if (event?.seq !== seq) return `the event at ${seq}`
  const who = plain(event.actor.name ?? event.actor.type)
  return `${event.event_id} at ${seq}, ${event.kind} of ${event.timestamp} by ${who}`
}

function placeIn(text: string): number {
  if (/^[1-9]\d{0,15}$/.test(text)) return Number(text)
  throw new UsageError(`${text} is not a sequence number.`)
}
