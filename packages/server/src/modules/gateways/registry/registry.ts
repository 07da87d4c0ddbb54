import type { TenantId } from '../../../kernel/actor.ts'
import { tenantCache } from '../../../replication/tenant-cache.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { GatewayRow } from './gateways.queries.ts'
import type { PoolRow } from './pools.queries.ts'
import * as queries from './registry.queries.ts'

/** A gateway. A locked one receives nothing and is offered to no device. */
export type KnownGateway = GatewayRow & { locked: boolean }
/** Pools and live gateways of a tenant, by UUID. Immutable: a change creates a new one. */
export type GatewayRegistry = {
  pools: ReadonlyMap<string, PoolRow>
  gateways: ReadonlyMap<string, KnownGateway>
  gatewaysOf: (poolId: string) => readonly KnownGateway[]
  /** Different for each read. */
  revision: number
}

/** Cache of pools and gateways, dropped by a change of one. While the cache may be stale, the database is read. */
export function createRegistry({ db, changes, feed }: Pick<GatewaysDeps, 'db' | 'changes' | 'feed'>) {
  let reads = 0

  async function read(tenant: TenantId): Promise<GatewayRegistry> {
    const [pools, gateways] = await db.inTenant(tenant, async (tx) => [
      await queries.allPools(tx, tenant),
      await queries.allGateways(tx, tenant),
    ])
    const byPool = Map.groupBy(gateways, (g) => g.pool_id)
    return {
      pools: new Map(pools.map((p) => [p.pool_id, p])),
      gateways: new Map(gateways.map((g) => [g.gateway_id, g])),
      gatewaysOf: (poolId) => byPool.get(poolId) ?? [],
      revision: ++reads,
    }
  }

  const directories = tenantCache<GatewayRegistry>({ changes, feed }, { kinds: ['pool', 'gateway'], load: read })

  return { of: async (tenant: TenantId): Promise<GatewayRegistry> => directories.get(tenant) }
}
export type Registry = ReturnType<typeof createRegistry>
