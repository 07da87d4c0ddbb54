import { setImmediate as otherWork } from 'node:timers/promises'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { addressesOf, type FleetDevice } from '../../devices/index.ts'
import type { VariantContent } from '../../policy/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Touched } from './delta.ts'
import { mayUse } from './pools-of-variant.ts'

type Described = {
  device_id: string
  user_id: string | null
  wireguard_public_key: string | null
  /** Overlay addresses: IPv4, IPv6. */
  addresses: readonly string[]
}
/** A device that may connect through a pool, and under which variant. */
export type Peer = Described & { variant: string }
export type Peers = {
  peers: Peer[]
  variants: Record<string, VariantContent>
  removed_peers: string[]
  revoked: string[]
}

const chunk = 2000
const described = new WeakMap<FleetDevice, Described>()

/** Which devices a pool's gateways must let in, evaluated now. */
export function createPeers({ fleet, policy, now }: Pick<GatewaysDeps, 'fleet' | 'policy' | 'now'>) {
  async function collect(tenant: TenantId, poolId: string, ids: Iterable<string>): Promise<Peers> {
    const devices = await fleet.all(tenant)
    const current = await policy.at(tenant)
    const pool = encodeId('gateway_pool', poolId)
    const at = now().getTime()
    const out: Peers = { peers: [], variants: {}, removed_peers: [], revoked: [] }
    let walked = 0
    for (const id of ids) {
      if (++walked % chunk === 0) await otherWork()
      const device = devices.get(id)
      if (!device || isRevoked(device)) {
        out.revoked.push(encodeId('device', id))
        continue
      }
      const { digest, content } = current.variantOf(device, at)
      if (device.usable && mayUse(content, pool)) {
        out.variants[digest] = content
        out.peers.push({ ...describe(device), variant: digest })
      } else out.removed_peers.push(encodeId('device', id))
    }
    return out
  }

  return {
    all: async (tenant: TenantId, poolId: string): Promise<Pick<Peers, 'peers' | 'variants'>> => {
      const { peers, variants } = await collect(tenant, poolId, (await fleet.all(tenant)).keys())
      return { peers, variants }
    },
    touched: (tenant: TenantId, poolId: string, touched: Touched): Promise<Peers> =>
      collect(tenant, poolId, touched.devices),
  }
}

/** Pending is not yet a peer; everything else that is not usable was stopped, itself or through its user. */
const isRevoked = (device: FleetDevice): boolean => !device.usable && device.status !== 'pending'

/** Made once per state of a device: a changed device is another object. */
function describe(device: FleetDevice): Described {
  const known = described.get(device)
  if (known) return known
  const { ipv4, ipv6 } = addressesOf(device.tenantId, device.addressNumber)
  const made = {
    device_id: encodeId('device', device.deviceId),
    user_id: device.userId === null ? null : encodeId('user', device.userId),
    wireguard_public_key: device.wireguardPublicKey,
    addresses: [ipv4, ipv6],
  }
  described.set(device, made)
  return made
}
