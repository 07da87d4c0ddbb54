import type { TenantId } from '../../../kernel/actor.ts'
import { gatewayAddressesOf, overlayOf } from '../../devices/index.ts'
import type { GatewayRow } from '../registry/gateways.queries.ts'
import type { PoolRow } from '../registry/pools.queries.ts'
import type { KnownGateway } from '../registry/registry.ts'

/** Why a gateway is told of no peer and offered to nobody, whatever the policy says; undefined: it is open. */
export function closedBy(gateway: KnownGateway, pool: PoolRow) {
  if (gateway.locked) return 'gateway_locked'
  if (!pool.enabled) return 'pool_disabled'
  return pool.requires_approval && gateway.public_key === null ? 'gateway_pending' : undefined
}

/** What a gateway is told of itself, with every answer. */
export function gatewayPart(tenant: TenantId, gateway: GatewayRow) {
  const { ipv4, ipv6 } = gatewayAddressesOf(tenant)
  return {
    public_key: gateway.public_key,
    listen_port: gateway.listen_port,
    /** Its own in the overlay. */
    addresses: [ipv4, ipv6],
    draining: gateway.draining,
  }
}

/** What every gateway of a pool is told of it. */
export function poolPart(tenant: TenantId, pool: PoolRow) {
  const { ipv4, ipv6 } = overlayOf(tenant)
  return {
    protocol: pool.protocol,
    overlay: [ipv4, ipv6],
    nat: pool.nat,
    mtu: pool.mtu,
    dns: pool.dns,
    fail_mode: pool.fail_mode,
    lifetime_seconds: pool.lifetime_seconds,
  }
}
