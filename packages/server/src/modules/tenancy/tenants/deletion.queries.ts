import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

const isTimeTrusted = sql<boolean>`time_to_purge() is not null`

/**
 * Across tenants: tenants with a deletion date, and deleted ones that are not erased yet. A legal hold keeps a tenant.
 * While the clock is not trusted, all are kept.
 */
export const selectToErase = (tx: Tx) =>
  tx
    .selectFrom('tenants')
    .select(['tenant_id', 'delete_after', 'deleted_at'])
    .where('delete_after', 'is not', null)
    .where('erased_at', 'is', null)
    .where(sql<boolean>`not is_on_hold(tenant_id)`)
    .where(isTimeTrusted)
    .orderBy('tenant_id')
    .execute()

/** Marks a tenant as deleted, and frees its name. Returns the row as it was to the one call that deleted it in time. */
export const markTenantDeleted = async (tx: Tx, tenant: TenantId, at: Date): Promise<{ name: string } | undefined> => {
  const before = await tx
    .selectFrom('tenants')
    .select('name')
    .where('tenant_id', '=', tenant)
    .where('delete_after', '<=', at)
    .where('deleted_at', 'is', null)
    .where(sql<boolean>`not is_on_hold(tenant_id)`)
    .where(isTimeTrusted)
    .forUpdate()
    .executeTakeFirst()
  if (!before) return undefined
  await tx
    .updateTable('tenants')
    .set({ deleted_at: at, updated_at: at, plan_id: null, name: sql`name || '~' || tenant_id` })
    .where('tenant_id', '=', tenant)
    .execute()
  return before
}
export const dropEpoch = (tx: Tx, tenant: TenantId) =>
  tx.deleteFrom('tenant_epochs').where('tenant_id', '=', tenant).execute()

export const markErased = (tx: Tx, tenant: TenantId, at: Date) =>
  tx
    .updateTable('tenants')
    .set({ erased_at: at, display_name: '', limits: '{}' })
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is not', null)
    .execute()
