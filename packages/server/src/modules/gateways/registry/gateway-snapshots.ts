import type { ListPlace } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Activity } from '../reports/activity.ts'
import { type GatewayStatus, gatewayStatusOf } from '../reports/status.ts'
import type { PoolRow } from './pools.queries.ts'
import type { KnownGateway, Registry } from './registry.ts'

export type GatewaySnapshot = {
  gateway: KnownGateway
  pool: PoolRow
  share: number | null
  status: GatewayStatus
  reason: string
  /** Version of its report, else the one that it announced with its key. */
  version: string | null
}

/** Returns all gateways of a tenant with their status, from memory. A plan limits their number. */
export const createGatewaySnapshots =
  ({ registry, activity }: { registry: Registry; activity: Pick<Activity, 'of'> }) =>
  async (tenant: TenantId, at: Date): Promise<GatewaySnapshot[]> => {
    const { gateways, pools, gatewaysOf } = await registry.of(tenant)
    const { byGateway } = await activity.of(tenant)
    return [...gateways.values()].flatMap((gateway) => {
      const pool = pools.get(gateway.pool_id)
      if (!pool) return []
      const seen = byGateway.get(gateway.gateway_id)
      const { status, status_reason: reason } = gatewayStatusOf(gateway, seen?.lastSeenMs ?? null, at.getTime())
      const share = pool.capacity === null ? null : pool.capacity / Math.max(1, gatewaysOf(pool.pool_id).length)
      return { gateway, pool, share, status, reason, version: seen?.version ?? gateway.version }
    })
  }

/** Sort key by name; the id breaks ties. */
export const namePlaceOf = ({ gateway }: GatewaySnapshot): ListPlace => [gateway.name_key, gateway.gateway_id]
/** Sort key by creation time: text of a fixed length, so that it sorts like the time. */
export const creationOf = ({ gateway }: GatewaySnapshot): ListPlace => [
  gateway.created_at.toISOString(),
  gateway.gateway_id,
]

/** Compares two sort keys: -1, 0 or 1. */
export const inOrder = (a: ListPlace, b: ListPlace): number =>
  a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]) ? -1 : a[0] === b[0] && a[1] === b[1] ? 0 : 1
