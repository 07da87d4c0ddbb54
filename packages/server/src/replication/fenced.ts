import type { Tx } from '../db/database.ts'
import type { TenantId } from '../kernel/actor.ts'

/**
 * Time when the tenant's sequence numbers were last advanced past all issued ones; null: never. See
 * `kernel/restore-floor.ts`.
 */
export const fencedAt = async (tx: Tx, tenant: TenantId): Promise<Date | null> => {
  const row = await tx
    .selectFrom('tenant_epochs')
    .select('fenced_at')
    .where('tenant_id', '=', tenant)
    .executeTakeFirst()
  return row?.fenced_at ?? null
}
