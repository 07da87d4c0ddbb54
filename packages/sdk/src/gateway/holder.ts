import { reject, VerificationError } from '../errors.ts'
import { bodyOf, type Send } from '../send.ts'
import type { Archived, PolicyArchive } from '../verify/policy-archive.ts'
import { wholeOf } from './applier.ts'
import { createChunks } from './chunks.ts'
import { applyPolicy, dropEnded, type GatewayChange, type GatewayState } from './state.ts'
import { type GatewayTrust, refuseWithoutTrust } from './trust.ts'
import { verifyGatewayPolicy } from './verifier.ts'

/**
 * Limit of requests in one pull. A new snapshot is requested after a delta that does not fit, and after a snapshot
 * whose chunks are gone.
 */
const mostAttempts = 4

type Known = { since: number; as_of: string }
type Pull = { known: Known | undefined; wait: number; signal: AbortSignal | undefined }
type HolderOptions = {
  send: Send
  query: Record<string, string>
  tenantId: string
  gatewayId: string
  trust: GatewayTrust
  archive: PolicyArchive | undefined
  /** Called when the store failed. The policy in force stays, but is lost at a restart. */
  onStoreError: (e: unknown) => void
  now: () => Date
}

/** Manages the newest verified policy of the control plane, and the part of it in force. */
export function createHolder({ send, query, tenantId, gatewayId, trust, archive, onStoreError, now }: HolderOptions) {
  let held: GatewayState | null = null
  /** Replaces `held` after its end if it fails closed: without any peers. */
  let over: GatewayState | null = null
  /** Ended peers that were not reported yet. */
  const ended: string[] = []
  /** Peers with an ended key. */
  const rekeyed = new Set<string>()
  let isEndTold = false
  const chunks = createChunks(send, query, async (digest, body) => {
    await archive?.keepChunk(digest, body).catch(storeFailed)
  })
  function storeFailed(e: unknown): void {
    archive?.giveUp()
    onStoreError(e)
  }
  let pollSeconds = 30

  const isOver = (state: GatewayState): boolean => state.pool.fail_mode === 'closed' && now() >= state.expiresAt

  /** Removes ended peers. `takeEnded` reports each once. */
  function inForce(): GatewayState | null {
    if (!held) return null
    const timed = dropEnded(held, now())
    ended.push(...timed.ended)
    for (const id of timed.rekeyed) rekeyed.add(id)
    if (!isOver(held)) return held
    over ??= { ...held, peers: new Map(), variants: new Map(), nextEnd: Number.POSITIVE_INFINITY }
    return over
  }

  /** Returns the changes by time alone since the last call; null if there are none. */
  function takeEnded(): GatewayChange | null {
    const state = inForce()
    if (!held || !state) return null
    const nothing = { seq: held.seq, moved: [], peers: [], revokedDevices: [], revokedSessions: [] }
    const removedPeers = ended.splice(0)
    const peers = [...rekeyed].filter((id) => state.peers.has(id))
    rekeyed.clear()
    if (state === over && !isEndTold) {
      isEndTold = true
      return { ...nothing, kind: 'expired', removedPeers: [...removedPeers, ...held.peers.keys()] }
    }
    return removedPeers.length + peers.length > 0 ? { ...nothing, kind: 'ended', peers, removedPeers } : null
  }

  async function pullOnce({ known, wait, signal }: Pull): Promise<GatewayChange | null | 'unfit'> {
    const reply = await send('unifiedPolicy', { query: { ...query, ...known } }, { wait, signal })
    if (reply.status === 304) return null
    const body = bodyOf(reply)
    const judged = (by: Parameters<Parameters<GatewayTrust['judge']>[0]>[0]) =>
      verifyGatewayPolicy(body.policy, { trust: by, tenantId, gatewayId, now: now() })
    const named = await trust.judge(judged, { signal })
    pollSeconds = body.poll_seconds
    const policy = await chunks.complete(named, signal)
    if (!policy) return 'unfit'
    if (archive && policy.seq < archive.seenSeq)
      reject('rollback', `gateway policy ${policy.seq} is older than ${archive.seenSeq}`)
    const wasOver = inForce() === over && over !== null
    let applied: ReturnType<typeof applyPolicy>
    try {
      applied = applyPolicy(held, policy)
    } catch (e) {
      const unfit = e instanceof VerificationError && policy.kind === 'delta' && e.code !== 'rollback'
      if (!unfit) throw e
      return 'unfit'
    }
    const moved = applied.state.seq !== held?.seq || policy.kind === 'snapshot' || says(applied.change)
    held = applied.state
    over = null
    isEndTold = false
    // Saved before it is enforced: a restart must not go back behind the enforced state.
    await archive?.keep({ ...policy, jws: body.policy, chunks: named.chunks.map((c) => c.digest) }).catch(storeFailed)
    const state = inForce()
    // Nobody was a peer, so all peers are new.
    if (wasOver && state) return wholeOf(state)
    return moved ? applied.change : null
  }

  /** Reads the policy of an earlier run and verifies it like a received one, except for its end. */
  async function readArchive(from: Archived): Promise<GatewayState> {
    const by = trust.held ?? refuseWithoutTrust()
    const judge = { trust: by, tenantId, gatewayId, now: now(), mayHaveEnded: true }
    let state: GatewayState | null = null
    for (const jws of from.policies) {
      const named = verifyGatewayPolicy(jws, judge)
      for (const { digest } of named.chunks) chunks.bring(digest, await from.chunk(digest))
      state = applyPolicy(state, (await chunks.complete(named, undefined)) ?? named).state
    }
    const isWhole = state?.seq === from.seq && state.generatedAt.getTime() === from.generatedAt.getTime()
    return state && isWhole ? state : reject('rollback', 'the stored policy is older than the enforced one')
  }

  return {
    /**
     * Restores the policy of an earlier run; false if there is none. Rejects with `VerificationError` if it can't be
     * verified, and with the store's own errors; then nothing is in force until the next pull.
     */
    restore: async (): Promise<boolean> => {
      if (!archive || held) return held !== null
      try {
        const found = await archive.read()
        if (found) held ??= await readArchive(found)
      } catch (e) {
        archive.giveUp()
        throw e
      }
      return held !== null
    },
    get inForce(): GatewayState | null {
      return inForce()
    },
    takeEnded,
    /** Polling interval in seconds for a server without long polls. */
    get pollSeconds(): number {
      return pollSeconds
    },
    /** Time of the next change by time alone (ms); Infinity if there is none. */
    get nextEnd(): number {
      const state = inForce()
      if (!state || state === over) return Number.POSITIVE_INFINITY
      return Math.min(state.nextEnd, state.expiresAt.getTime())
    },
    /**
     * Brings the state up to date: by a delta on the held state, also if that is no longer in force, or by a snapshot,
     * of which only changed chunks are fetched. A delta that does not fit is replaced by a snapshot. Returns the
     * change, null if there is none. On any failure the previous state stays.
     */
    pull: async ({ wait = 0, signal }: { wait?: number; signal?: AbortSignal | undefined }) => {
      const mayWait = held !== null && now() < held.expiresAt
      const isKnown = held && !archive?.takeRest()
      let known: Known | undefined =
        held && isKnown ? { since: held.seq, as_of: held.generatedAt.toISOString() } : undefined
      for (let attempt = 1; attempt <= mostAttempts; attempt++) {
        const found = await pullOnce({ known, wait: mayWait && attempt === 1 ? wait : 0, signal })
        if (found !== 'unfit') return found
        known = undefined
      }
      return null
    },
  }
}
export type Holder = ReturnType<typeof createHolder>

/** True if a delta of the same `seq` has content: changes by time alone. */
const says = ({ moved, peers, removedPeers, revokedDevices, revokedSessions }: GatewayChange): boolean =>
  [moved, peers, removedPeers, revokedDevices, revokedSessions].some((list) => list.length > 0)
