import type { AuditFields, AuditKind } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../db/database.ts'
import { orderOf, type Pager, prefixPattern } from '../../db/page.ts'
import type { Handlers } from '../../http/serve.ts'
import type { Source } from '../../kernel/actor.ts'
import { createGroupCommit } from '../../kernel/group-commit.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { type EventRow, insert, select } from './audit.queries.ts'

export type Target = { type: string; id: string | null; name: string | null }
export type Changed = Record<string, readonly [before: unknown, after: unknown]>
type More = { target?: Target; changes?: Changed; details?: Record<string, unknown>; outcome?: EventRow['outcome'] }

type NewEvent = {
  [K in AuditKind]: { source: Source; kind: K; fields: AuditFields[K]; more?: More }
}[AuditKind]

export function createAudit({ db, pager, now }: { db: Database; pager: Pager; now: () => Date }) {
  const row = (source: Source, kind: AuditKind, fields: object, more: More): EventRow => ({
    tenant_id: source.tenantId,
    event_id: newUuid(),
    at: now(),
    kind,
    outcome: more.outcome ?? 'success',
    actor_type: source.type,
    actor_id: source.id,
    actor_name: source.name,
    target_type: more.target?.type ?? null,
    target_id: more.target?.id ?? null,
    target_name: more.target?.name ?? null,
    source_ip: source.sourceIp,
    user_agent: source.userAgent?.slice(0, 512) ?? null,
    request_id: source.requestId,
    origin: source.origin,
    fields,
    changes: more.changes && Object.keys(more.changes).length > 0 ? more.changes : null,
    details: more.details ?? null,
  })

  const join = createGroupCommit<EventRow>((rows) => db.acrossTenants((tx) => insert(tx, rows).then(() => [])), {
    maxBatch: 500,
    maxQueue: 20_000,
  })

  return {
    /** In the transaction of the change it describes: neither exists without the other. */
    record: async <K extends AuditKind>(tx: Tx, source: Source, kind: K, fields: AuditFields[K], more: More = {}) => {
      await insert(tx, [row(source, kind, fields, more)])
    },
    /** Several events, each with its own source, in one statement. */
    recordAll: async (tx: Tx, events: readonly NewEvent[]) => {
      if (events.length > 0)
        await insert(
          tx,
          events.map((e) => row(e.source, e.kind, e.fields, e.more ?? {})),
        )
    },
    /** What changes nothing but must be on record: settles once it is durable, together with others. */
    note: <K extends AuditKind>(source: Source, kind: K, fields: AuditFields[K], more: More = {}) =>
      join(row(source, kind, fields, more)),
    /** For the pipe: a write that was refused. */
    refused: (source: Source, kind: AuditKind, code: string, detail: string) =>
      join(
        row(
          source,
          kind,
          {},
          { outcome: code === 'internal_error' ? 'failed' : 'refused', details: { error: code, detail } },
        ),
      ),
    handlers: {
      listAuditEvents: ({ actor, query }) =>
        db.inTenant(actor.tenantId, async (tx) => {
          const { q, limit, cursor, sort = '-timestamp', ...filter } = query
          const scope = `listAuditEvents|${actor.tenantId}|${JSON.stringify({ q, ...filter })}`
          const order = orderOf(sort, { timestamp: { column: 'at', kind: 'time' } }, 'event_id')
          const rows = select(tx, actor.tenantId, filter, q === undefined ? undefined : prefixPattern(q))
          const found = await pager.page(rows, { ...(limit && { limit }), ...(cursor && { cursor }) }, order, scope)
          return { items: found.items.map(view), next_cursor: found.next_cursor }
        }),
    } satisfies Partial<Handlers>,
  }
}
export type Audit = ReturnType<typeof createAudit>

type Row = Awaited<ReturnType<ReturnType<typeof select>['execute']>>[number]
const view = (e: Row) => ({
  ...e.fields,
  event_id: encodeId('audit_event', e.event_id),
  tenant_id: encodeId('tenant', e.tenant_id),
  kind: e.kind,
  timestamp: e.at.toISOString(),
  outcome: e.outcome,
  actor: { type: e.actor_type, id: e.actor_id, name: e.actor_name },
  target: e.target_type ? { type: e.target_type, id: e.target_id, name: e.target_name } : null,
  source_ip: e.source_ip,
  user_agent: e.user_agent,
  request_id: e.request_id,
  origin: e.origin as 'api',
  ...(e.changes && { changes: e.changes }),
  ...(e.details && { details: e.details }),
})
