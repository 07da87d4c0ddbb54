import { createHash } from 'node:crypto'
import type { Output } from '@holdfast/contract'
import type { gatewayPools } from '@holdfast/contract/gateway-runtime'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { unauthorized } from '../../../kernel/app-error.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { Representation } from '../../../kernel/representation.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { GatewayRow } from '../registry/gateways.queries.ts'
import type { PoolRow } from '../registry/pools.queries.ts'
import type { Directory, Registry } from '../registry/registry.ts'
import type { Activity, Liveness } from '../reports/activity.ts'
import { statusOf } from '../reports/status.ts'
import { isUnapproved } from './own-part.ts'
import { poolsOf } from './pools-of-variant.ts'

type View = Output<typeof gatewayPools>
type Made = { directory: Directory; revision: number; madeAtMs: number; representation: Representation<View> }

const ttlSeconds = 60
/** Time alone turns healthy into degraded, so what was made is good for this long only. */
const remakeMs = 1000
const rank = { healthy: 0, degraded: 1, never_seen: 2, draining: 3, down: 3, pending: 3 } as const

/**
 * The gateways a device may use. One that has never reported is offered only where its pool has nothing better, so
 * that a fleet can start; draining and silent ones never are.
 */
export function createDirectory({
  fleet,
  policy,
  now,
  registry,
  activity,
}: Pick<GatewaysDeps, 'fleet' | 'policy' | 'now'> & { registry: Registry; activity: Activity }) {
  const made = new BoundedMap<string, Made>(2000)

  async function permitted(tenant: TenantId, deviceId: string, directory: Directory): Promise<PoolRow[]> {
    const device = (await fleet.device(tenant, deviceId)) ?? unauthorized()
    if (!device.usable) return []
    const at = now().getTime()
    const pools = poolsOf((await policy.at(tenant)).variantOf(device, at).content, at)
    return [...directory.pools.values()].filter(
      (p) => p.enabled && (pools === 'every' || pools.has(encodeId('gateway_pool', p.pool_id))),
    )
  }

  return {
    read: async (actor: Actor<'device'>): Promise<Representation<View>> => {
      const tenant = actor.tenantId
      const directory = await registry.of(tenant)
      const { byGateway, revision } = await activity.of(tenant)
      const pools = await permitted(tenant, actor.principal.id, directory)
      const key = `${tenant}|${pools.map((p) => p.pool_id).join()}`
      const atMs = now().getTime()
      let view = made.get(key)
      if (
        !view ||
        view.directory !== directory ||
        view.revision !== revision ||
        Math.abs(atMs - view.madeAtMs) >= remakeMs
      ) {
        const body = pools.map((pool) => viewPool(pool, approvedOf(directory, pool), byGateway, atMs))
        view = { directory, revision, madeAtMs: atMs, representation: representationOf(body) }
        made.set(key, view)
      }
      return view.representation
    },
  }
}
export type DirectoryReads = ReturnType<typeof createDirectory>

function representationOf(pools: View['pools']): Representation<View> {
  const digest = `sha256:${createHash('sha256').update(JSON.stringify(pools)).digest('hex')}`
  const body: View = { pools, digest, ttl_seconds: ttlSeconds }
  return new Representation<View>(digest, Buffer.from(JSON.stringify(body)))
}

const approvedOf = (directory: Directory, pool: PoolRow) =>
  directory.gatewaysOf(pool.pool_id).filter((gateway) => !isUnapproved(gateway, pool))

function viewPool(
  pool: PoolRow,
  gateways: readonly GatewayRow[],
  byGateway: ReadonlyMap<string, Liveness>,
  atMs: number,
): View['pools'][number] {
  const share = pool.capacity === null ? null : pool.capacity / Math.max(1, gateways.length)
  const candidates = gateways.map((gateway) => {
    const seen = byGateway.get(gateway.gateway_id)
    const { status } = statusOf(gateway, seen?.lastSeenMs ?? null, atMs)
    return { gateway, status, rank: rank[status], load: loadOf(seen?.activeSessions ?? 0, share) }
  })
  const serving = candidates.filter((c) => c.rank < rank.never_seen)
  const offered = serving.length > 0 ? serving : candidates.filter((c) => c.status === 'never_seen')
  offered.sort(
    (a, b) =>
      a.rank - b.rank ||
      b.gateway.weight - a.gateway.weight ||
      a.load - b.load ||
      (a.gateway.gateway_id < b.gateway.gateway_id ? -1 : 1),
  )
  return {
    pool_id: encodeId('gateway_pool', pool.pool_id),
    name: pool.name,
    region: pool.region,
    protocol: pool.protocol,
    selection: pool.selection,
    gateways: offered.map(({ gateway, status }) => ({
      gateway_id: encodeId('gateway', gateway.gateway_id),
      name: gateway.name,
      endpoints: gateway.endpoints,
      public_key: gateway.public_key,
      weight: gateway.weight,
      status,
    })),
  }
}

/** In coarse steps, so that the order and with it the digest do not change with every session. */
const loadOf = (sessions: number, share: number | null): number =>
  share === null ? Math.floor(Math.log2(sessions + 1)) : Math.floor((10 * sessions) / share)
