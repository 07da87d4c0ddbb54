import type { Place } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Activity } from '../reports/activity.ts'
import { type GatewayStatus, statusOf } from '../reports/status.ts'
import type { PoolRow } from './pools.queries.ts'
import type { KnownGateway, Registry } from './registry.ts'

export type Standing = {
  gateway: KnownGateway
  pool: PoolRow
  share: number | null
  status: GatewayStatus
  reason: string
  /** The version in its report, or else the one that it announced with its key. */
  version: string | null
}

/** All gateways of a tenant with their status, from memory: a plan limits how many a tenant has. */
export const createStandings =
  ({ registry, activity }: { registry: Registry; activity: Pick<Activity, 'of'> }) =>
  async (tenant: TenantId, at: Date): Promise<Standing[]> => {
    const { gateways, pools, gatewaysOf } = await registry.of(tenant)
    const { byGateway } = await activity.of(tenant)
    return [...gateways.values()].flatMap((gateway) => {
      const pool = pools.get(gateway.pool_id)
      if (!pool) return []
      const seen = byGateway.get(gateway.gateway_id)
      const { status, status_reason: reason } = statusOf(gateway, seen?.lastSeenMs ?? null, at.getTime())
      const share = pool.capacity === null ? null : pool.capacity / Math.max(1, gatewaysOf(pool.pool_id).length)
      return { gateway, pool, share, status, reason, version: seen?.version ?? gateway.version }
    })
  }

/** Sort key by name; the id breaks ties. */
export const nameOf = ({ gateway }: Standing): Place => [gateway.name_key, gateway.gateway_id]
/** Sort key by time of creation: text of a fixed length, so that it sorts as the time does. */
export const creationOf = ({ gateway }: Standing): Place => [gateway.created_at.toISOString(), gateway.gateway_id]

/** How two places compare: -1, 0 or 1. */
export const inOrder = (a: Place, b: Place): number =>
  a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]) ? -1 : a[0] === b[0] && a[1] === b[1] ? 0 : 1
