import type { VariantContent } from '@holdfast/policy'
import { encodeId } from '../../../kernel/ids.ts'
import type { PoolRow } from '../registry/pools.queries.ts'
import type { GatewayRegistry } from '../registry/registry.ts'
import type { Liveness } from '../reports/liveness.ts'
import { gatewayStatusOf, isSteady } from '../reports/status.ts'
import { closedBy } from './own-part.ts'

const rank = { healthy: 0, degraded: 1, never_seen: 2, draining: 3, down: 3, pending: 3 } as const

type Pool = {
  pool: PoolRow
  directory: GatewayRegistry
  byGateway: ReadonlyMap<string, Liveness>
  atMs: number
}

/**
 * Returns the gateways of a pool that a device is offered, best first. A gateway that never reported is offered only if
 * the pool has no better one, so that a fleet can start. Draining, down, locked and unapproved gateways are never
 * offered. Within a status, gateways that came back recently or reached their share of the pool's capacity come last,
 * as standby.
 */
export function offeredOf({ pool, directory, byGateway, atMs }: Pool) {
  const gateways = directory.gatewaysOf(pool.pool_id)
  const share = pool.capacity === null ? null : pool.capacity / Math.max(1, gateways.length)
  const candidates = gateways
    .filter((gateway) => !closedBy(gateway, pool))
    .map((gateway) => {
      const seen = byGateway.get(gateway.gateway_id)
      const { status } = gatewayStatusOf(gateway, seen?.lastSeenMs ?? null, atMs)
      const sessions = seen?.activeSessions ?? 0
      const isFull = share !== null && sessions >= share
      const standby = status !== 'healthy' || isFull || !isSteady(seen?.upSinceMs ?? null, atMs)
      return { gateway, status, standby, rank: rank[status], load: loadOf(sessions, share) }
    })
  const serving = candidates.filter((c) => c.rank < rank.never_seen)
  const offered = serving.length > 0 ? serving : candidates.filter((c) => c.status === 'never_seen')
  offered.sort(
    (a, b) =>
      a.rank - b.rank ||
      Number(a.standby) - Number(b.standby) ||
      b.gateway.weight - a.gateway.weight ||
      a.load - b.load ||
      (a.gateway.gateway_id < b.gateway.gateway_id ? -1 : 1),
  )
  return offered
}

/** A pool for a device's directory. */
export function viewPool({ poolId, content, ...of }: Pool & { poolId: string; content: VariantContent }) {
  const { pool, atMs } = of
  return {
    pool_id: poolId,
    name: pool.name,
    region: pool.region,
    protocol: pool.protocol,
    selection: pool.selection,
    ...tunnelOf(content, pool, poolId, atMs),
    gateways: offeredOf(of).map(({ gateway, status, standby }) => ({
      gateway_id: encodeId('gateway', gateway.gateway_id),
      name: gateway.name,
      endpoints: gateway.endpoints,
      public_key: gateway.public_key,
      weight: gateway.weight,
      status,
      standby,
    })),
  }
}

/** Load in coarse steps, so that the order, and with it the digest, does not change with every session. */
const loadOf = (sessions: number, share: number | null): number =>
  share === null ? Math.floor(Math.log2(sessions + 1)) : Math.floor((10 * sessions) / share)

/** Tunnel settings of a device for a pool. */
type Tunnel = {
  mtu: number
  /** Addresses of resolvers. */
  dns: readonly string[]
  /** Keepalive interval; 0 for none. */
  keepalive_seconds: number
  /** Networks. The device itself resolves DNS names of resources. */
  routes: readonly string[]
  /** Resources, hosts and networks that the policy allows through the pool. */
  resources: readonly string[]
}

const everywhere = ['0.0.0.0/0', '::/0']
/** NAT devices drop idle mappings after about half a minute. */
const defaultKeepalive = 25

/**
 * Returns the names that allow rules in force reach through a pool: of rules and resources that name this pool or none.
 */
function namesThrough({ rules, resources }: VariantContent, poolId: string, at: number): string[] {
  const names = new Set<string>()
  for (const { action, to, via, expires_at } of rules) {
    if (action !== 'allow' || (expires_at !== undefined && Date.parse(expires_at) <= at)) continue
    for (const name of to) {
      const pool = Object.hasOwn(resources, name) ? resources[name]?.pool : undefined
      if (via ? via.includes(poolId) : pool === undefined || pool === poolId) names.add(name)
    }
  }
  return [...names].sort()
}

/** A policy may lower the pool's MTU and replace its resolvers. All traffic uses the tunnel if the policy says so. */
function tunnelOf(content: VariantContent, pool: PoolRow, poolId: string, at: number): Tunnel {
  const { settings } = content
  const resources = namesThrough(content, poolId, at)
  const dns = settings.dns?.servers ?? pool.dns
  const networks = resources.flatMap((name) =>
    Object.hasOwn(content.resources, name)
      ? (content.resources[name]?.cidrs ?? [])
      : name === '*'
        ? everywhere
        : [name],
  )
  const resolvers = dns.map((address) => `${address}/${address.includes(':') ? 128 : 32}`)
  const isWhole = settings.split_tunnel === false || resources.includes('*')
  return {
    mtu: Math.min(settings.mtu ?? pool.mtu, pool.mtu),
    dns,
    keepalive_seconds: settings.keepalive_seconds ?? defaultKeepalive,
    routes: isWhole ? everywhere : [...new Set([...networks, ...resolvers])].sort(),
    resources,
  }
}
