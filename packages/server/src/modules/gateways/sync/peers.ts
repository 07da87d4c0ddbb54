import { endOn, type VariantContent } from '@holdfast/policy'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { createSlices, type Slices } from '../../../kernel/time-slice.ts'
import type { FleetDevice } from '../../devices/index.ts'
import type { TenantPolicy } from '../../policy/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Touched } from './delta.ts'
import { type PatchStep, patchOf } from './patch.ts'
import { type Peer, peerOf } from './peer.ts'
import { poolAccessOf } from './pool-access.ts'

/** Peers in a delta. `moved` applies before the other lists, which may name some of the same devices. */
type PeerChanges = {
  moved: { from: string; to: string; patch?: number }[]
  /** JSON Patches (RFC 6902) from a device's old variant to its new one. Most moves share a patch. */
  patches: PatchStep[][]
  peers: Peer[]
  variants: Record<string, VariantContent>
  removed_peers: string[]
  revoked: string[]
}

/** Current state of changed devices, for the gateways of a pool, as of `at`. */
export function createPeers({ fleet }: Pick<GatewaysDeps, 'fleet'>) {
  async function collect(
    tenant: TenantId,
    current: TenantPolicy,
    pool: string,
    ids: Iterable<string>,
    at: number,
    slice: Slices,
    out: PeerChanges,
  ) {
    const devices = await fleet.all(tenant)
    for (const id of ids) {
      if (slice.isOver()) await slice.next()
      const device = devices.get(id)
      if (!device || isRevoked(device)) {
        out.revoked.push(encodeId('device', id))
        continue
      }
      const access = poolAccessOf(current, device, pool, at)
      if (access) {
        out.variants[access.variant.digest] = access.variant.content
        out.peers.push(peerOf(device, access, at))
      } else out.removed_peers.push(encodeId('device', id))
    }
  }

  return {
    touched: async (
      tenant: TenantId,
      poolId: string,
      { touched, at, policy: current }: { touched: Touched; at: number; policy: TenantPolicy },
    ): Promise<PeerChanges> => {
      const pool = encodeId('gateway_pool', poolId)
      const out: PeerChanges = { moved: [], patches: [], peers: [], variants: {}, removed_peers: [], revoked: [] }
      const patches = new Map<string, number>()
      const oneByOne: Iterable<string>[] = [touched.devices]
      const slice = createSlices()
      for (const { from, to, ids } of touched.moved) {
        if (slice.isOver()) await slice.next()
        const [before, after] = [endOn(from.content, pool), endOn(to.content, pool)]
        if (before <= at && after <= at) continue
        if (before === after) {
          const way = { from: from.digest, to: to.digest }
          const text = JSON.stringify(patchOf(from.content, to.content))
          if (text.length < JSON.stringify(to.content).length) {
            const patch = patches.get(text) ?? patches.size
            patches.set(text, patch)
            out.moved.push({ ...way, patch })
          } else {
            out.moved.push(way)
            out.variants[to.digest] = to.content
          }
        } else oneByOne.push(ids)
      }
      out.patches = [...patches.keys()].map((text) => JSON.parse(text))
      for (const ids of oneByOne) await collect(tenant, current, pool, ids, at, slice, out)
      return out
    },
  }
}
export type Peers = ReturnType<typeof createPeers>

/** True for a device that is not usable and not pending: it, or its user, was stopped. */
const isRevoked = (device: FleetDevice): boolean => !device.usable && device.status !== 'pending'
