import type { Database } from '../../../db/database.ts'
import { eraseTenant } from '../../../db/erase.ts'
import { admitPurge } from '../../../db/kept.ts'
import { jobSource, type TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { minute } from '../../../kernel/time.ts'
import type { Changes } from '../../../replication/changes.ts'
import type { Audit } from '../../audit/index.ts'
import * as queries from './deletion.queries.ts'

/** By then all work that had begun for the tenant has ended: requests, and pending writes in memory. */
const settledAfterMs = 5 * minute

/** Deletes tenants that are due, and erases the remains of deleted ones. */
export function createDeletion({
  db,
  audit,
  changes,
  now,
  platform,
  checkClock,
  removeContents,
}: {
  db: Database
  audit: Audit
  changes: Changes
  now: () => Date
  /** Tenant whose audit log has the deletion: the deleted tenant's own log is erased. */
  platform: () => Promise<TenantId | undefined>
  /** Called before anything is deleted permanently by the clock. */
  checkClock: () => Promise<void>
  /** Deletes a tenant's contents outside of the database. */
  removeContents: (tenant: TenantId) => Promise<void>
}) {
  /**
   * Marks a tenant as deleted and removes its epoch row. From the commit on no replica follows it, and late writes fail
   * because there is no epoch.
   */
  const deleteForGood = (tenant: TenantId, recordIn: TenantId): Promise<void> =>
    db.inTenant(recordIn, async (tx) => {
      await admitPurge(tx)
      const name = await db.alsoIn(tx, tenant, async (own) => {
        const before = await queries.markTenantDeleted(own, tenant, now())
        if (!before) return undefined
        await changes.record(own, tenant, [{ kind: 'tenant', subject: tenant }])
        await queries.dropEpoch(own, tenant)
        return before.name
      })
      if (name === undefined) return
      const tenant_id = encodeId('tenant', tenant)
      const source = jobSource(recordIn, 'delete_tenants')
      const target = { type: 'tenant', id: tenant_id, name }
      await audit.record(tx, source, 'tenant.changed', { operation: 'erase', tenant_id }, { target })
    })

  async function erase(tenant: TenantId, deletedAt: Date): Promise<void> {
    if (now().getTime() - deletedAt.getTime() < settledAfterMs) return
    await removeContents(tenant)
    while ((await eraseTenant(db, tenant)) > 0);
    await db.inTenant(tenant, (tx) => queries.markErased(tx, tenant, now()))
  }

  return async (): Promise<void> => {
    const recordIn = await platform()
    if (recordIn === undefined) return
    await checkClock()
    const rows = new Map((await db.acrossTenants(queries.selectToErase)).map((row) => [row.tenant_id, row]))
    await eachTenant(rows.keys(), async (tenant) => {
      const { delete_after = null, deleted_at = null } = rows.get(tenant) ?? {}
      if (deleted_at) await erase(tenant, deleted_at)
      else if (delete_after && delete_after <= now()) await deleteForGood(tenant, recordIn)
    })
  }
}
