import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Time of the first enrollment among the devices that are still stored. */
export const firstDeviceAt = async (tx: Tx, tenant: TenantId): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('devices')
    .select('enrolled_at')
    .where('tenant_id', '=', tenant)
    .orderBy('enrolled_at')
    .orderBy('device_id')
    .limit(1)
    .executeTakeFirst()
  return row?.enrolled_at
}
