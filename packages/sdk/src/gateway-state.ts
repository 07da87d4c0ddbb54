import { reject } from './errors.ts'
import type { GatewayPolicy, Peer } from './gateway-verifier.ts'
import type { PolicyContent } from './policy-verifier.ts'

/** What a gateway enforces at the moment. */
export type GatewayState = {
  seq: number
  poolId: string
  expiresAt: Date
  failMode: 'closed' | 'open'
  trustAnchorVersion: number
  /** By device id. */
  peers: Map<string, Peer>
  /** By digest; every peer's is there and no other. */
  variants: Map<string, PolicyContent>
  revokedDevices: Set<string>
  revokedSessions: Set<string>
}

/** What an application changed: ids of devices, and of sessions to cut. */
export type GatewayChange = {
  kind: 'snapshot' | 'delta'
  seq: number
  peers: string[]
  removedPeers: string[]
  revokedDevices: string[]
  revokedSessions: string[]
}

/**
 * The state after a verified policy; a snapshot makes a new state, a delta changes the one given, all of it or nothing. Throws
 * `VerificationError`: `rollback`, `wrong_base`, `malformed` (a peer without its variant).
 */
export function applyPolicy(
  state: GatewayState | null,
  policy: GatewayPolicy,
): { state: GatewayState; change: GatewayChange } {
  if (state && policy.seq < state.seq) reject('rollback', `gateway policy ${policy.seq} is older than ${state.seq}`)
  if (policy.kind === 'delta' && (!state || policy.baseSeq !== state.seq))
    reject('wrong_base', `the delta builds on ${policy.baseSeq}, not on ${state?.seq ?? 'nothing'}`)
  const held = policy.kind === 'delta' ? state : null
  const revoked = new Set(policy.revocations.devices)
  const peers = policy.peers.filter((peer) => !revoked.has(peer.device_id))
  for (const { device_id, variant } of peers)
    if (!policy.variants.has(variant) && !held?.variants.has(variant))
      reject('malformed', `the variant of ${device_id} is missing`)

  const next: GatewayState = {
    seq: policy.seq,
    poolId: policy.poolId,
    expiresAt: policy.expiresAt,
    failMode: policy.failMode,
    trustAnchorVersion: policy.trustAnchorVersion,
    peers: held?.peers ?? new Map(),
    variants: held?.variants ?? new Map(),
    revokedDevices: held?.revokedDevices ?? new Set(),
    revokedSessions: held?.revokedSessions ?? new Set(),
  }
  for (const [digest, content] of policy.variants) next.variants.set(digest, content)
  for (const peer of peers) {
    next.peers.set(peer.device_id, peer)
    // Named as a peer again: a suspension that was lifted.
    next.revokedDevices.delete(peer.device_id)
  }
  for (const id of policy.removedPeers) next.peers.delete(id)
  for (const id of revoked) {
    next.peers.delete(id)
    next.revokedDevices.add(id)
  }
  for (const id of policy.revocations.sessions) next.revokedSessions.add(id)
  dropUnused(next)
  return { state: next, change: changeOf(state, policy, next) }
}

function dropUnused({ peers, variants }: GatewayState): void {
  const used = new Set<string>()
  for (const peer of peers.values()) used.add(peer.variant)
  for (const digest of variants.keys()) if (!used.has(digest)) variants.delete(digest)
}

/** After a snapshot, peers that were held and are not named any more have gone too. */
function changeOf(before: GatewayState | null, policy: GatewayPolicy, after: GatewayState): GatewayChange {
  const gone = policy.kind === 'snapshot' && before ? [...before.peers.keys()].filter((id) => !after.peers.has(id)) : []
  return {
    kind: policy.kind,
    seq: policy.seq,
    peers: policy.peers.map((peer) => peer.device_id).filter((id) => after.peers.has(id)),
    removedPeers: [...new Set([...policy.removedPeers, ...gone])].filter((id) => !after.peers.has(id)),
    revokedDevices: policy.revocations.devices,
    revokedSessions: policy.revocations.sessions,
  }
}
