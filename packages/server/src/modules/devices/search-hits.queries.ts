import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { selectDevices } from './find.queries.ts'

export const findDeviceHits = (tx: Tx, tenant: TenantId, ids: readonly string[], at: Date) =>
  selectDevices(tx, tenant, { filter: {}, at, onlineSince: at, canary: undefined }, new Set())
    .where('devices.device_id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()

/**
 * Devices with an address number in the range. Revoked devices are left out, since their address may have been
 * reassigned.
 */
export const findIdsByAddress = async (
  tx: Tx,
  tenant: TenantId,
  { from, to }: { from: number; to: number },
  most: number,
): Promise<string[]> => {
  const rows = await tx
    .selectFrom('devices')
    .select('device_id')
    .where('tenant_id', '=', tenant)
    .where('status', '<>', 'revoked')
    .where('address_number', '>=', from)
    .where('address_number', '<=', to)
    .orderBy('address_number')
    .limit(most)
    .execute()
  return rows.map((row) => row.device_id)
}
