import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { GatewayRow } from './gateways.queries.ts'
import type { PoolRow } from './pools.queries.ts'
import * as queries from './registry.queries.ts'

/** The pools and live gateways of a tenant, by UUID. Never written into: a change makes a new one. */
export type Directory = {
  pools: ReadonlyMap<string, PoolRow>
  gateways: ReadonlyMap<string, GatewayRow>
  gatewaysOf: (poolId: string) => readonly GatewayRow[]
  /** Another number for what was read at another time. */
  revision: number
}

/** Pools and gateways in memory until a change touches one; read from the database while memory is not proven fresh. */
export function createRegistry({ db, changes, feed }: Pick<GatewaysDeps, 'db' | 'changes' | 'feed'>) {
  const held = new BoundedMap<TenantId, Directory>(10_000)
  let reads = 0
  const loading = new Map<TenantId, Promise<Directory>>()

  changes.onChange((tenant, _seq, list) => {
    if (!list.some(({ kind }) => kind === 'pool' || kind === 'gateway')) return
    held.delete(tenant)
    // What is being read may be older than this change: those who asked before it get it, nobody after.
    loading.delete(tenant)
  })

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

  function load(tenant: TenantId): Promise<Directory> {
    const running = loading.get(tenant)
    if (running) return running
    const mine = read(tenant)
      .then((directory) => {
        if (loading.get(tenant) === mine) held.set(tenant, directory)
        return directory
      })
      .finally(() => {
        if (loading.get(tenant) === mine) loading.delete(tenant)
      })
    loading.set(tenant, mine)
    return mine
  }

  return {
    of: async (tenant: TenantId): Promise<Directory> => {
      const known = held.get(tenant)
      if (known && feed.isFresh()) return known
      if (!feed.isFresh()) await feed.catchUp()
      return held.get(tenant) ?? load(tenant)
    },
  }
}
export type Registry = ReturnType<typeof createRegistry>
