import type { Contract, Output } from '@holdfast/contract'
import type { Database } from '../../db/database.ts'
import type { List, Page, Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { atFound, begins, isRareSearch, select } from './audit.queries.ts'

type Deps = { db: Database; pager: Pager; catchUp: (tenant: TenantId) => Promise<void> }
export const auditHandlers = ({ db, pager, catchUp }: Deps) =>
  ({
    listAuditEvents: async ({ actor, query }) => {
      // Whoever has seen the answer to a change finds it on record.
      await catchUp(actor.tenantId)
      return db.inTenant(actor.tenantId, async (tx) => {
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
          orders: { timestamp: { column: 'at', kind: 'time' }, seq: { column: 'seq', kind: 'number' } },
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
      })
    },
  }) satisfies Partial<Handlers>

/** A date-time of RFC 3339 can name moments that do not exist as instants, such as a leap second. */
const instant = (name: string, text: string): Date => {
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? fail('bad_request', `${name}: is not a moment in time`) : at
}

type Recorded = Omit<Output<Contract['listAuditEvents']>['items'][number], 'seq' | 'hash'>
type Row = Awaited<ReturnType<ReturnType<typeof select>['execute']>>[number]
const viewPage = ({ items, next_cursor }: Page<Row>) => ({ items: items.map(view), next_cursor })
const view = ({ record, seq, hash }: Row) => ({
  ...(JSON.parse(record) as Recorded),
  seq,
  hash: hash.toString('hex'),
})
