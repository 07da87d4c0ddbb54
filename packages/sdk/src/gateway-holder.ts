import { reject, VerificationError } from './errors.ts'
import { wholeOf } from './gateway-applier.ts'
import { createChunks } from './gateway-chunks.ts'
import { applyPolicy, dropEnded, type GatewayChange, type GatewayState } from './gateway-state.ts'
import { type GatewayTrust, refuseWithoutTrust } from './gateway-trust.ts'
import { verifyGatewayPolicy } from './gateway-verifier.ts'
import type { Archived, PolicyArchive } from './policy-archive.ts'
import { bodyOf, type Send } from './send.ts'

/** A delta that does not fit, and a snapshot whose chunks are gone, are answered with a new snapshot. */
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
  /** Told that the store failed: what is in force stays so, and is not there after a restart. */
  onStoreError: (e: unknown) => void
  now: () => Date
}

/** What the control plane said last, verified, and what of it is in force. */
export function createHolder({ send, query, tenantId, gatewayId, trust, archive, onStoreError, now }: HolderOptions) {
  let held: GatewayState | null = null
  /** Stands for `held` after its end, where it fails closed: nobody is a peer. */
  let over: GatewayState | null = null
  /** Peers whose time has come and of whom nobody was told. */
  const ended: string[] = []
  /** Those of whom a key has ended. */
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

  /** Takes out the peers whose time has come; `takeEnded` says them once. */
  function inForce(): GatewayState | null {
    if (!held) return null
    const timed = dropEnded(held, now())
    ended.push(...timed.ended)
    for (const id of timed.rekeyed) rekeyed.add(id)
    if (!isOver(held)) return held
    over ??= { ...held, peers: new Map(), variants: new Map(), nextEnd: Number.POSITIVE_INFINITY }
    return over
  }

  /** What time alone has changed since it was asked for last; null for nothing. */
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
    // Before anybody enforces it: a restart must not go back behind what was enforced.
    await archive?.keep({ ...policy, jws: body.policy, chunks: named.chunks.map((c) => c.digest) }).catch(storeFailed)
    const state = inForce()
    // Nobody was a peer, so all that are become it anew.
    if (wasOver && state) return wholeOf(state)
    return moved ? applied.change : null
  }

  /** Reads what an earlier run kept and verifies it as if it had just come, but for its end. */
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
    return state && isWhole ? state : reject('rollback', 'what is stored ends before what was enforced')
  }

  return {
    /**
     * Goes on with what an earlier run kept; false where there is nothing. Rejects with `VerificationError` where what
     * is there can not be believed, and with the store's own errors; then nothing is in force until the next pull.
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
    /** Seconds after which to ask again where the server does not hold a request. */
    get pollSeconds(): number {
      return pollSeconds
    },
    /** When time alone changes what is in force next (ms); Infinity: never. */
    get nextEnd(): number {
      const state = inForce()
      if (!state || state === over) return Number.POSITIVE_INFINITY
      return Math.min(state.nextEnd, state.expiresAt.getTime())
    },
    /**
     * Brings the state up to date: a delta on what is held, also where that is no longer in force, or a snapshot, of
     * which only the chunks that changed are fetched. A delta that does not fit is replaced by a snapshot. Answers what
     * changed, null for nothing. On any failure the state before stays.
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

/** Whether a delta of the same `seq` says something: what time alone has changed. */
const says = ({ moved, peers, removedPeers, revokedDevices, revokedSessions }: GatewayChange): boolean =>
  [moved, peers, removedPeers, revokedDevices, revokedSessions].some((list) => list.length > 0)
