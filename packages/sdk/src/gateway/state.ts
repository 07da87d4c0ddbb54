import { reject } from '../errors.ts'
import type { PolicyContent } from '../verify/policy-verifier.ts'
import { applyPatch } from './patch.ts'
import {
  type GatewayPart,
  type GatewayPolicy,
  type Peer,
  type PoolPart,
  type RevokedSession,
  variantOf,
} from './verifier.ts'

/** The state that a gateway enforces. */
export type GatewayState = {
  seq: number
  poolId: string
  /** Time of the control plane's data. */
  generatedAt: Date
  expiresAt: Date
  gateway: GatewayPart
  pool: PoolPart
  trustAnchorVersion: number
  /** By device id, without ended peers. */
  peers: Map<string, Peer>
  /** By digest; exactly the variants of all peers. */
  variants: Map<string, PolicyContent>
  /** Devices removed by deltas since the last snapshot. Only the peer list decides who may connect. */
  revokedDevices: Set<string>
  /** By session id. */
  revokedSessions: Map<string, RevokedSession>
  /** Time (ms) until which a device is refused although it is a peer, because its session was terminated. */
  blockedUntil: Map<string, number>
  /** Earliest end of a peer or key (ms); Infinity if there is none. */
  nextEnd: number
}

/** Changes of an applied policy: ids of devices, and of sessions to cut. */
export type GatewayChange = {
  /**
   * `snapshot`: devices that are not in the state are no peers. `ended`: by time alone, these peers have expired, or
   * keys of the peers in `peers`. `expired`: by time alone, the policy itself has expired; no device is a peer until
   * the next change.
   */
  kind: 'snapshot' | 'delta' | 'ended' | 'expired'
  seq: number
  /** All peers of one variant now have another one. */
  moved: { from: string; to: string }[]
  peers: string[]
  removedPeers: string[]
  revokedDevices: string[]
  revokedSessions: string[]
}

/**
 * Applies a verified policy. A snapshot makes a new state; a delta changes the given one, completely or not at all.
 * Throws `VerificationError`: `rollback`, `wrong_base`, `malformed` (a peer without its variant), `wrong_digest` (a
 * patch that does not fit).
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
  const patched = new Map<string, PolicyContent>()
  for (const { from, to, patch } of policy.moved) {
    const base = patch && held?.variants.get(from)
    if (base) patched.set(to, variantOf(to, applyPatch(base, patch)))
  }
  const isThere = (variant: string) =>
    policy.variants.has(variant) || patched.has(variant) || held?.variants.has(variant) === true
  for (const { device_id, variant } of peers)
    if (!isThere(variant)) reject('malformed', `the variant of ${device_id} is missing`)
  // If the patched variant is missing, it has no peers, so none moves.
  for (const { to, patch } of policy.moved)
    if (!patch && !isThere(to)) reject('malformed', `the variant ${to} is missing`)

  const next: GatewayState = {
    seq: policy.seq,
    poolId: policy.poolId,
    generatedAt: policy.generatedAt,
    expiresAt: policy.expiresAt,
    gateway: policy.gateway,
    pool: policy.pool,
    trustAnchorVersion: policy.trustAnchorVersion,
    peers: held?.peers ?? new Map(),
    variants: held?.variants ?? new Map(),
    revokedDevices: held?.revokedDevices ?? new Set(),
    revokedSessions: held?.revokedSessions ?? new Map(),
    blockedUntil: held?.blockedUntil ?? new Map(),
    nextEnd: held?.nextEnd ?? Number.POSITIVE_INFINITY,
  }
  for (const [digest, content] of [...patched, ...policy.variants]) next.variants.set(digest, content)
  const moves = new Map(policy.moved.map(({ from, to }) => [from, to]))
  if (moves.size > 0)
    for (const [id, peer] of next.peers) {
      const variant = moves.get(peer.variant)
      if (variant !== undefined) next.peers.set(id, { ...peer, variant })
    }
  for (const peer of peers) {
    next.nextEnd = Math.min(next.nextEnd, endOf(peer))
    next.peers.set(peer.device_id, peer)
    // A device named as a peer again: its suspension was lifted.
    next.revokedDevices.delete(peer.device_id)
  }
  for (const id of policy.removedPeers) next.peers.delete(id)
  for (const id of revoked) {
    next.peers.delete(id)
    next.revokedDevices.add(id)
  }
  for (const session of policy.revocations.sessions) {
    next.revokedSessions.set(session.session_id, session)
    const until = session.block_until === null ? 0 : Date.parse(session.block_until)
    if (until > (next.blockedUntil.get(session.device_id) ?? policy.generatedAt.getTime()))
      next.blockedUntil.set(session.device_id, until)
  }
  dropUnused(next)
  return { state: next, change: changeOf(state, policy, next) }
}

const momentOf = (text: string | null): number => (text === null ? Number.POSITIVE_INFINITY : Date.parse(text))
/** Returns the next time at which a peer changes: its own end, or that of one of its keys. */
const endOf = ({ valid_until, wireguard_keys }: Peer): number =>
  wireguard_keys.reduce((end, { not_after }) => Math.min(end, momentOf(not_after)), momentOf(valid_until))

/** True if a device is refused for a limited time although it is a peer. */
export function isBlocked({ blockedUntil }: GatewayState, deviceId: string, now: Date): boolean {
  const until = blockedUntil.get(deviceId)
  if (until === undefined || now.getTime() < until) return until !== undefined
  blockedUntil.delete(deviceId)
  return false
}

/** Removes ended peers, and ended keys of other peers. Returns the ids of both. */
export function dropEnded(state: GatewayState, now: Date): { ended: string[]; rekeyed: string[] } {
  const ended: string[] = []
  const rekeyed: string[] = []
  if (now.getTime() < state.nextEnd) return { ended, rekeyed }
  const isOver = (moment: string | null) => momentOf(moment) <= now.getTime()
  state.nextEnd = Number.POSITIVE_INFINITY
  for (const [id, peer] of state.peers) {
    if (isOver(peer.valid_until)) {
      ended.push(id)
      continue
    }
    const wireguard_keys = peer.wireguard_keys.filter(({ not_after }) => !isOver(not_after))
    const left = { ...peer, wireguard_keys }
    state.nextEnd = Math.min(state.nextEnd, endOf(left))
    if (wireguard_keys.length === peer.wireguard_keys.length) continue
    rekeyed.push(id)
    state.peers.set(id, left)
  }
  for (const id of ended) state.peers.delete(id)
  if (ended.length > 0) dropUnused(state)
  return { ended, rekeyed }
}

function dropUnused({ peers, variants }: GatewayState): void {
  const used = new Set<string>()
  for (const peer of peers.values()) used.add(peer.variant)
  for (const digest of variants.keys()) if (!used.has(digest)) variants.delete(digest)
}

/** After a snapshot, held peers that it does not name are removed too. */
function changeOf(before: GatewayState | null, policy: GatewayPolicy, after: GatewayState): GatewayChange {
  const gone = policy.kind === 'snapshot' && before ? [...before.peers.keys()].filter((id) => !after.peers.has(id)) : []
  return {
    kind: policy.kind,
    seq: policy.seq,
    moved: policy.moved.map(({ from, to }) => ({ from, to })),
    peers: policy.peers.map((peer) => peer.device_id).filter((id) => after.peers.has(id)),
    removedPeers: [...new Set([...policy.removedPeers, ...gone])].filter((id) => !after.peers.has(id)),
    revokedDevices: policy.revocations.devices,
    revokedSessions: policy.revocations.sessions.map((s) => s.session_id),
  }
}
