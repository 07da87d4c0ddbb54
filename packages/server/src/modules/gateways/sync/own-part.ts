import type { TenantId } from '../../../kernel/actor.ts'
import { gatewayAddressesOf, overlayOf } from '../../devices/index.ts'
import type { GatewayRow } from '../registry/gateways.queries.ts'
import type { PoolRow } from '../registry/pools.queries.ts'
import type { KnownGateway } from '../registry/registry.ts'

/**
 * Returns the reason why a gateway receives no peers and is offered to no device, independent of the policy. Undefined
 * if there is none.
 */
export function closedBy(gateway: KnownGateway, pool: PoolRow) {
  if (gateway.locked) return 'gateway_locked'
  if (!pool.enabled) return 'pool_disabled'
  return pool.requires_approval && gateway.public_key === null ? 'gateway_pending' : undefined
}

/** Settings of the gateway itself, in every answer. */
export function gatewayPart(tenant: TenantId, gateway: GatewayRow) {
  const { ipv4, ipv6 } = gatewayAddressesOf(tenant)
  return {
    public_key: gateway.public_key,
    listen_port: gateway.listen_port,
    /** The gateway's own overlay addresses. */
    addresses: [ipv4, ipv6],
    draining: gateway.draining,
  }
}

/** Settings of the pool, for each of its gateways. */
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
