import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { purgeTime } from '../../db/kept.ts'
import { deleting } from '../../db/retention.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type Point = {
  at: Date
  devices_applied: number
  devices_pending: number
  gateways_applied: number
  gateways_pending: number
}
export type LastPoint = Point & { tenant_id: TenantId; bundle_id: string }

/** Bypasses tenant isolation. The newest point of each of these versions. */
export const lastPoints = async (tx: Tx, tenants: readonly TenantId[], bundles: readonly string[]) => {
  const { rows } = await sql<LastPoint>`
    select last.* from unnest(${tenants}::uuid[], ${bundles}::uuid[]) as b (tenant_id, bundle_id)
    cross join lateral (
      select a.* from policy_adoption a where a.tenant_id = b.tenant_id and a.bundle_id = b.bundle_id
      order by a.at desc limit 1) as last`.execute(tx)
  return rows
}

/** An existing point stays: two concurrent jobs store the same time once. */
export const insertPoints = (tx: Tx, tenant: TenantId, bundleId: string, points: readonly Point[]) =>
  tx
    .insertInto('policy_adoption')
    .values(points.map((point) => ({ tenant_id: tenant, bundle_id: bundleId, ...point })))
    .onConflict((c) => c.columns(['tenant_id', 'bundle_id', 'at']).doNothing())
    .execute()

export const pointsOf = (tx: Tx, tenant: TenantId, bundleId: string): Promise<Point[]> =>
  tx
    .selectFrom('policy_adoption')
    .select(['at', 'devices_applied', 'devices_pending', 'gateways_applied', 'gateways_pending'])
    .where('tenant_id', '=', tenant)
    .where('bundle_id', '=', bundleId)
    .orderBy('at')
    .execute()

/** Purges old points of versions that are still kept. The points of a deleted version are deleted with it. */
export const pruneAdoption = deleting('policy_adoption', sql`at < ${purgeTime} - interval '400 days'`)
