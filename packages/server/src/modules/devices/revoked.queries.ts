import { sql } from 'kysely'
import { isNotHeld, type Kept, overBefore } from '../../db/kept.ts'
import { dueIn, type Prune } from '../../db/retention.ts'

/**
 * Forgets devices that were revoked long enough ago, with what is known of them. What happened to them stays on
 * record, and so do their sessions; their names, keys and addresses were free since the revocation.
 */
export function pruneRevoked(kept: Kept): Prune {
  const isOver = sql<boolean>`revoked_at < ${overBefore(kept)}
    and ${isNotHeld(kept, { user: 'user_id', device: 'device_id' })}`
  return {
    kept,
    isDue: (tenant) => dueIn('devices', tenant, isOver),
    take: async (tx, tenant, limit) => {
      const gone = await tx
        .selectFrom('devices')
        .select('device_id')
        .where('tenant_id', '=', tenant)
        .where(isOver)
        .orderBy('device_id')
        .limit(limit)
        .forUpdate()
        .execute()
      const ids = gone.map((d) => d.device_id)
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
}
