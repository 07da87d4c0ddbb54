import type { Database } from '../../db/database.ts'
import type { PageQuery, Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { findConnector } from './connectors.queries.ts'
import { noConnector } from './connectors.ts'
import { selectDeadLetters } from './dead-letters.queries.ts'

/** Lists the events of a connector that its receiver refused. */
export const createDeadLetters =
  ({ db, pager }: { db: Database; pager: Pager }) =>
  (tenant: TenantId, connector_id: string, query: PageQuery) =>
    db.inTenant(tenant, async (tx) => {
      if (!(await findConnector(tx, tenant, connector_id))) noConnector()
      return pager.list(selectDeadLetters(tx, { tenant_id: tenant, connector_id }), {
        operation: 'listSiemDeadLetters',
        tenant,
        query,
        orders: { seq: { column: 'seq', kind: 'number' } },
        otherwise: 'seq',
        tie: 'event_id',
      })
    })
export type DeadLetters = ReturnType<typeof createDeadLetters>
