import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples, limit } from '../options.ts'
import { type Column, cellText, printList } from '../output.ts'
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

export function addAudit(program: Command, cli: Cli): void {
  const audit = program.command('audit').description('audit events')
  examples(
    auditFilter(limit(audit.command('list').description('list events, newest first'))).action(
      async ({ limit: most, ...filter }: AuditFilter & { limit: number }) => {
        const client = await cli.client()
        const query = { ...auditQuery(filter), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listAuditEvents({ query: { ...query, ...page } }))
      },
    ),
    'audit list --from 24h --outcome refused',
    'audit list --kind login.failed --json',
  )
  addAuditExport(audit, cli)
  addAuditVerify(audit, cli)
}
