import { encodeId } from '../../../kernel/ids.ts'
import { addressesOf, type FleetDevice } from '../../devices/index.ts'
import type { Entitlement } from './entitlement.ts'

/** A device that may connect through a pool, as its gateways are told. Members in canonical order (RFC 8785). */
export type Peer = {
  /** Overlay addresses: IPv4, IPv6. */
  addresses: readonly string[]
  device_id: string
  /** When its user last proved a second factor. */
  mfa_at: string | null
  user_id: string | null
  /** When a gateway that heard nothing new stops carrying it. */
  valid_until: string | null
  variant: string
  wireguard_public_key: string | null
}

export function peerOf(device: FleetDevice, { variant, until }: Entitlement): Peer {
  const { ipv4, ipv6 } = addressesOf(device.tenantId, device.addressNumber)
  return {
    addresses: [ipv4, ipv6],
    device_id: encodeId('device', device.deviceId),
    mfa_at: device.mfaAt === null ? null : new Date(device.mfaAt).toISOString(),
    user_id: device.userId === null ? null : encodeId('user', device.userId),
    valid_until: Number.isFinite(until) ? new Date(until).toISOString() : null,
    variant: variant.digest,
    wireguard_public_key: device.wireguardPublicKey,
  }
}
