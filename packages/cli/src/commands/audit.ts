import { setTimeout as delay } from 'node:timers/promises'
import type { Contract, Output } from '@holdfast/contract'
import { auditFacets } from '@holdfast/contract/audit'
import { pageItems } from '@holdfast/contract/limits'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, integer, limit } from '../options.ts'
import { type Column, cellText, printAll, printItem, printList } from '../output.ts'
import { jsonText } from '../text.ts'
import { addAuditExport } from './audit-export.ts'
import { type AuditFilter, auditFilter, auditQuery } from './audit-filter.ts'
import { addAuditVerify } from './audit-verify.ts'

type Event = Output<Contract['listAuditEvents']>['items'][number]
const nameOf = (who: Event['actor'] | null) => (who ? (who.name ?? who.id ?? who.type) : null)
const columns: readonly Column<Event>[] = [
  ['TIME', (e) => e.timestamp],
  ['KIND', (e) => e.kind],
  ['OUTCOME', (e) => e.outcome],
  ['ACTOR', (e) => nameOf(e.actor)],
  ['TARGET', (e) => nameOf(e.target)],
  ['SOURCE', (e) => e.source_ip],
  ['DETAILS', whatOf],
]

/** Fields of every kind of event: those in other columns, and those shown only as JSON. */
const common = new Set(
  'event_id seq hash tenant_id timestamp kind outcome actor target source_ip user_agent request_id origin changes details'.split(
    ' ',
  ),
)

/**
 * Describes the change or the reason of a refusal: `status: active -> suspended`, `validation_error: name: is already
 * taken`.
 */
function whatOf(event: Event): string | null {
  const { error, detail, ...details } = event.details ?? {}
  const isSaid = ([name, value]: [string, unknown]) => name === 'reason' && value === error
  const own = Object.entries(event).filter((of) => !common.has(of[0]) && !of[0].endsWith('_id') && !isSaid(of))
  const changed = Object.entries(event.changes ?? {}).map(
    ([field, [before, after]]) => `${field}: ${word(before)} -> ${word(after)}`,
  )
  const others = [...own, ...Object.entries(details)].map(([name, value]) => `${name}: ${word(value)}`)
  const refused = error === undefined ? [] : [`${String(error)}: ${String(detail ?? '')}`]
  return [...refused, ...changed, ...others].join('; ') || null
}

const longest = 60
const word = (value: unknown): string => {
  const text = cellText(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/** Polling interval of the log. */
const pollMs = 1000
const mostPlaces = Number.MAX_SAFE_INTEGER

export function addAudit(program: Command, cli: Cli): void {
  const audit = program.command('audit').description('Search, export and verify the audit log')
  examples(
    limit(auditFilter(audit.command('list').description('List audit events, newest first'))).action(
      async ({ limit: most, ...filter }: AuditFilter & { limit: number }) => {
        const client = await cli.client()
        const query = { ...auditQuery(filter), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listAuditEvents({ query: { ...query, ...page } }))
      },
    ),
    'audit list --from 24h --outcome refused',
    'audit list --target anna-laptop',
    "audit list --kind 'login.*' --text 192.0.2.7 --json",
  )
  examples(
    audit
      .command('show <event_id>')
      .description('Show an audit event with all its fields')
      .action(async (event_id: string) => {
        const client = await cli.client()
        printItem(cli, await client.getAuditEvent({ params: { event_id }, query: cli.scope }))
      }),
    'audit show evt_01jxz3c9dqf7vr2m8k4s6t0b5w',
  )
  examples(
    auditFilter(
      audit
        .command('histogram')
        .description('Count audit events over time\n\nWithout --from, it counts events of the last day.'),
    )
      .option('--buckets <n>', 'number of intervals', integer(1, 200))
      .addOption(choice('--facet <facet...>', 'fields by which events are also counted', auditFacets))
      .action(async ({ buckets, facet, ...filter }: AuditFilter & { buckets?: number; facet?: string[] }) => {
        const client = await cli.client()
        const query = { ...auditQuery(filter), ...given({ buckets, facets: facet?.join(',') }), ...cli.scope }
        const found = await client.auditHistogram({ query })
        if (cli.json) return printItem(cli, found)
        await printAll(cli, bucketColumns(found), found.buckets)
        for (const { facet, values, other } of found.facets ?? []) {
          cli.say(cli.strong(facet))
          await printAll(cli, valueColumns, values)
          if (other > 0) cli.note(`${other} others.`)
        }
        if (found.estimated) cli.note('There are too many events to count: the numbers are estimates.')
      }),
    'audit histogram --kind login.failed --from 7d --buckets 7',
  )
  examples(
    auditFilter(
      audit
        .command('follow')
        .description(
          'Show new audit events as they are recorded\n\nEvents appear in order of their sequence numbers, until you stop the command.',
        ),
    )
      .option(
        '--after <seq>',
        'sequence number after which the output begins; default: the newest one',
        integer(0, mostPlaces),
      )
      .action(({ after, ...filter }: AuditFilter & { after?: number }) => follow(cli, filter, after)),
    'audit follow --outcome refused',
    'audit follow --after 1200 --json',
  )
  addAuditExport(audit, cli)
  addAuditVerify(audit, cli)
}

const valueColumns: readonly Column<Histogram['facets'][number]['values'][number]>[] = [
  ['VALUE', (v) => v.value],
  ['NAME', (v) => v.name],
  ['EVENTS', (v) => v.count],
]
type Histogram = Output<Contract['auditHistogram']>
const barLength = 40
function bucketColumns({ buckets }: Histogram): readonly Column<Histogram['buckets'][number]>[] {
  const highest = Math.max(1, ...buckets.map((bucket) => bucket.count))
  return [
    ['FROM', (bucket) => bucket.from],
    ['EVENTS', (bucket) => bucket.count],
    ['', (bucket) => '#'.repeat(Math.ceil((bucket.count / highest) * barLength)) || ' '],
  ]
}

/** Prints new events until it is interrupted. A later start after the last printed sequence number misses nothing. */
async function follow(cli: Cli, filter: AuditFilter, after: number | undefined): Promise<never> {
  const client = await cli.client()
  const newest = { sort: '-seq', limit: 1, ...cli.scope } as const
  const lastPlace = async () => (await client.listAuditEvents({ query: newest })).items[0]?.seq ?? 0
  // Reports an unknown name now, not at the first event.
  if (filter.actor ?? filter.target) await client.listAuditEvents({ query: { ...auditQuery(filter), ...newest } })
  let seen = after ?? (await lastPlace())
  try {
    for (;;) {
      const last = await lastPlace()
      const query = {
        ...auditQuery(filter),
        ...cli.scope,
        sort: 'seq',
        after_seq: seen,
        limit: pageItems.most,
      } as const
      for (let cursor: string | null | undefined; last > query.after_seq && cursor !== null; ) {
        const page = await client.listAuditEvents({ query: { ...query, ...(cursor && { cursor }) } })
        for (const event of page.items) {
          cli.say(cli.json ? jsonText(event) : lineOf(event))
          seen = event.seq
        }
        cursor = page.next_cursor
        if (cursor === null) seen = Math.max(last, seen)
      }
      await delay(pollMs)
    }
  } catch (e) {
    cli.hint(`To continue after the last event, add --after ${seen}.`)
    throw e
  }
}
const lineOf = (event: Event): string => columns.map(([, value]) => cellText(value(event))).join('  ')
