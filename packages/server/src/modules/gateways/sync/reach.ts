import type { VariantContent } from '@holdfast/policy'
import type { PoolRow } from '../registry/pools.queries.ts'

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
export function tunnelOf(content: VariantContent, pool: PoolRow, poolId: string, at: number): Tunnel {
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
