import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Of a revoked device too; undefined where there is none. */
export const deviceNameOf = async (tx: Tx, tenant: TenantId, deviceId: string): Promise<string | undefined> =>
  (
    await tx
      .selectFrom('devices')
      .select('name')
      .where('tenant_id', '=', tenant)
      .where('device_id', '=', deviceId)
      .executeTakeFirst()
  )?.name
