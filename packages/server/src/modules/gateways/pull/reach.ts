import type { VariantContent } from '@holdfast/policy'
import type { PoolRow } from '../registry/pools.queries.ts'

/** What a device sends through a pool, as it sets up its tunnel. */
type Tunnel = {
  mtu: number
  /** Resolvers. */
  dns: readonly string[]
  /** 0: none is sent. */
  keepalive_seconds: number
  /** Networks. Names of resources that are DNS names are resolved by the device. */
  routes: readonly string[]
  /** Resources, hosts and networks that the policy leads to through the pool. */
  resources: readonly string[]
}

const everywhere = ['0.0.0.0/0', '::/0']
/** NAT devices on the way forget a quiet tunnel after half a minute. */
const defaultKeepalive = 25

/**
 * Names that the allow rules in force lead to through a pool: those of rules and resources that name it, or no pool.
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

/** A policy may say less than the pool's MTU, and other resolvers. Everything takes the tunnel where it says so. */
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
