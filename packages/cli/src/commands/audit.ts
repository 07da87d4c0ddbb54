import type { Contract, Output } from '@holdfast/contract'
import { type Command, InvalidArgumentError } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, cellText, printList } from '../output.ts'
import { parseDuration } from '../text.ts'
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
  ['WHAT', whatOf],
]

/** The fields of every kind: what stands in other columns, and what is read only as JSON. */
const common = new Set(
  'event_id seq hash tenant_id timestamp kind outcome actor target source_ip user_agent request_id origin changes details'.split(
    ' ',
  ),
)

/** What changed, or why it was refused: `status: active -> suspended`, `validation_error: name: is already taken`. */
function whatOf(event: Event): string | null {
  const { error, detail, ...details } = event.details ?? {}
  const own = Object.entries(event).filter(([name]) => !common.has(name) && !name.endsWith('_id'))
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

/** A point in time, or how long ago → RFC 3339. */
export function parseMoment(text: string): string {
  const seconds = parseDuration(text)
  const time = seconds === undefined ? new Date(text) : new Date(Date.now() - seconds * 1000)
  if (Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('It must be a time like 2030-01-31T08:00:00Z, or how long ago, like 2h.')
  return time.toISOString()
}

type Filter = {
  limit: number
  kind?: string
  actor?: string
  target?: string
  sourceIp?: string
  outcome?: Event['outcome']
  from?: string
  to?: string
  request?: string
}

export function addAudit(program: Command, cli: Cli): void {
  const audit = program.command('audit').description('audit events')
  examples(
    limit(audit.command('list').description('list events, newest first'))
      .option('--kind <kind>', 'e.g. device.enrolled')
      .option('--actor <id>', 'by this user, key, device or gateway')
      .option('--target <id>', 'about this')
      .option('--source-ip <address>', 'from this address')
      .addOption(choice('--outcome <outcome>', 'only these', ['success', 'refused', 'failed']))
      .option('--from <time>', 'since then: a time, or how long ago', parseMoment)
      .option('--to <time>', 'until then', parseMoment)
      .option('--request <request_id>', 'of this request')
      .action(async ({ limit: most, actor, target, sourceIp, request, ...rest }: Filter) => {
        const client = await cli.client()
        const named = { actor_id: actor, target_id: target, source_ip: sourceIp, request_id: request }
        const query = { ...given({ ...rest, ...named }), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listAuditEvents({ query: { ...query, ...page } }))
      }),
    'audit list --from 24h --outcome refused',
    'audit list --kind login.failed --json',
  )
  addAuditVerify(audit, cli)
}
