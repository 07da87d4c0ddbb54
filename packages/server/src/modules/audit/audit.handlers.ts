import type { AuditKind } from '@holdfast/contract/vocabulary'
import type { Database } from '../../db/database.ts'
import type { List, Page, Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId } from '../../kernel/ids.ts'
import { atFound, begins, isRareSearch, select } from './audit.queries.ts'

export const auditHandlers = ({ db, pager }: { db: Database; pager: Pager }) =>
  ({
    listAuditEvents: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const { q, limit: _, cursor: __, sort: ___, from, to, ...exact } = query
        const filter = {
          ...exact,
          ...(from !== undefined && { from: instant('from', from) }),
          ...(to !== undefined && { to: instant('to', to) }),
        }
        const all = select(tx, actor.tenantId, filter)
        const list: List = {
          operation: 'listAuditEvents',
          tenant: actor.tenantId,
          query,
          orders: { timestamp: { column: 'at', kind: 'time' } },
          otherwise: '-timestamp',
          tie: 'event_id',
        }
        if (q === undefined) return viewPage(await pager.list(all, list))
        const some = all.where(begins(q))
        return viewPage(
          (await isRareSearch(tx, actor.tenantId, q))
            ? await pager.list(some.where(atFound(actor.tenantId, q)), list)
            : await pager.list(some, list, all),
        )
      }),
  }) satisfies Partial<Handlers>

/** A date-time of RFC 3339 can name moments that do not exist as instants, such as a leap second. */
const instant = (name: string, text: string): Date => {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? fail('bad_request', `${name}: is not a moment in time`) : at
}

type Row = Awaited<ReturnType<ReturnType<typeof select>['execute']>>[number]
const viewPage = ({ items, next_cursor }: Page<Row>) => ({ items: items.map(view), next_cursor })
const view = (e: Row) => ({
  ...e.fields,
  event_id: encodeId('audit_event', e.event_id),
  tenant_id: encodeId('tenant', e.tenant_id),
  kind: e.kind as AuditKind,
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
