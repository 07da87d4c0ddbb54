import type { TenantId } from '../../../kernel/actor.ts'
import { held } from '../../../memory/held.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { GatewayRow } from './gateways.queries.ts'
import type { PoolRow } from './pools.queries.ts'
import * as queries from './registry.queries.ts'

/** One that is locked is told nothing, and told of to nobody. */
export type KnownGateway = GatewayRow & { locked: boolean }
/** The pools and live gateways of a tenant, by UUID. Never written into: a change makes a new one. */
export type Directory = {
  pools: ReadonlyMap<string, PoolRow>
  gateways: ReadonlyMap<string, KnownGateway>
  gatewaysOf: (poolId: string) => readonly KnownGateway[]
  /** Another number for what was read at another time. */
  revision: number
}

/** Pools and gateways in memory until a change touches one; read from the database while memory is not proven fresh. */
export function createRegistry({ db, changes, feed }: Pick<GatewaysDeps, 'db' | 'changes' | 'feed'>) {
  let reads = 0

  async function read(tenant: TenantId): Promise<Directory> {
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

  const directories = held<Directory>({ changes, feed }, { kinds: ['pool', 'gateway'], load: read })

  return { of: async (tenant: TenantId): Promise<Directory> => directories.get(tenant) }
}
export type Registry = ReturnType<typeof createRegistry>
