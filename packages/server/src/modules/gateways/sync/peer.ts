import { encodeId } from '../../../kernel/ids.ts'
import { type FleetDevice, overlayAddressesOf } from '../../devices/index.ts'
import type { PoolAccess } from './pool-access.ts'

/** The current key, then a replaced one with its end. */
type TunnelKey = { key: string; not_after: string | null }

/** A device that may connect through a pool, for the pool's gateways. Members are in canonical order (RFC 8785). */
export type Peer = {
  /** Overlay addresses: IPv4, IPv6. */
  addresses: readonly string[]
  device_id: string
  /** Time of the user's last proof of a second factor. */
  mfa_at: string | null
  user_id: string | null
  /** Time at which a gateway without newer information stops carrying the device. */
  valid_until: string | null
  variant: string
  wireguard_keys: readonly TunnelKey[]
}

export function peerOf(
  device: FleetDevice,
  { variant, until }: Pick<PoolAccess, 'variant' | 'until'>,
  at: number,
): Peer {
  const { ipv4, ipv6 } = overlayAddressesOf(device.tenantId, device.addressNumber)
  return {
    addresses: [ipv4, ipv6],
    device_id: encodeId('device', device.deviceId),
    mfa_at: device.mfaAt === null ? null : new Date(device.mfaAt).toISOString(),
    user_id: device.userId === null ? null : encodeId('user', device.userId),
    valid_until: Number.isFinite(until) ? new Date(until).toISOString() : null,
    variant: variant.digest,
    wireguard_keys: keysOf(device, at),
  }
}

function keysOf({ wireguardPublicKey, previousWireguardKey: previous }: FleetDevice, at: number): TunnelKey[] {
  if (wireguardPublicKey === null) return []
  const current = { key: wireguardPublicKey, not_after: null }
  if (!previous || previous.until <= at) return [current]
  return [current, { key: previous.key, not_after: new Date(previous.until).toISOString() }]
}
