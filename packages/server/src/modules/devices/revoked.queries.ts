import { sql } from 'kysely'
import { isNotHeld, overBefore } from '../../db/kept.ts'
import { type Prune, purging } from '../../db/retention.ts'

const isOver = (before: ReturnType<typeof overBefore>) => sql<boolean>`revoked_at < ${before}
  and ${isNotHeld('revoked_devices', { user: 'user_id', device: 'device_id' })}`

/**
 * Purges devices revoked long ago, with their activity and posture. Their audit events and sessions stay. Their names,
 * keys and addresses have been free since the revocation.
 */
export const pruneRevoked: Prune = {
  ...purging('revoked_devices', 'devices', isOver),
  take: async (tx, tenant, limit) => {
    const deletedRows = await tx
      .selectFrom('devices')
      .select('device_id')
      .where('tenant_id', '=', tenant)
      .where(isOver(overBefore('revoked_devices')))
      .orderBy('device_id')
      .limit(limit)
      .forUpdate()
      .execute()
    const ids = deletedRows.map((d) => d.device_id)
    if (ids.length === 0) return 0
    for (const table of ['device_activity', 'device_postures', 'devices'] as const)
      await tx
        .deleteFrom(table)
        .where('tenant_id', '=', tenant)
        .where(sql<boolean>`device_id = any(${ids}::uuid[])`)
        .execute()
    return ids.length
  },
}
