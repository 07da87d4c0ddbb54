import { randomUUID } from 'node:crypto'
import type { Contract, Input } from '@holdfast/contract'
import type { Dispatcher } from 'undici'
import { backoffSeconds, jitter, type Random, sleep } from './backoff.ts'
import { ApiError, VerificationError } from './errors.ts'
import { createChunks } from './gateway-chunks.ts'
import { createMeter } from './gateway-metering.ts'
import { applyPolicy, dropEnded, type GatewayChange, type GatewayState } from './gateway-state.ts'
import { type GatewayPolicy, verifyGatewayPolicy } from './gateway-verifier.ts'
import { bodyOf, createSender } from './send.ts'
import { openTrust, pinTrust, type SignedTrustSet, type TrustStore } from './trust-store.ts'

export type GatewayOptions = {
  baseUrl: string
  /** The gateway's own service secret (`hfg_…`), or the deployment-wide one. */
  secret: string
  gatewayId: string
  tenantId: string
  /** A trust set pinned in an earlier run; without it the first one that the server gives is pinned. */
  trust?: SignedTrustSet
  /** Told of every trust set that is pinned or follows, to be kept for the next run. */
  onTrust?: (trust: SignedTrustSet) => void | Promise<void>
  dispatcher?: Dispatcher
  now?: () => Date
  random?: Random
}
/** A delta that does not fit, and a snapshot whose chunks are gone, are answered with a new snapshot. */
const mostAttempts = 4
/** Seconds; a gateway's policy lives for 15 minutes. */
const longestPause = 15

type Ask = { signal?: AbortSignal | undefined }
export type PullingOptions = {
  signal: AbortSignal
  onChange: (change: GatewayChange, state: GatewayState) => void | Promise<void>
  onError?: (error: unknown) => void
  /** Seconds that the server may hold a pull, ± 20 %; 25 unless said. */
  wait?: number
}
type Beat = Omit<Input<Contract['heartbeat']>['body'], 'boot_id' | 'applied'>

/** A gateway's link to the control plane. `state` stays in force until `state.expiresAt`, then `state.failMode` says what to do. */
export function openGateway({
  baseUrl,
  secret,
  gatewayId,
  tenantId,
  trust: pinned,
  onTrust,
  dispatcher,
  now = () => new Date(),
  random = Math.random,
}: GatewayOptions) {
  const send = createSender({ baseUrl, credential: secret, ...(dispatcher && { dispatcher }) })
  const query = { tenant_id: tenantId, gateway_id: gatewayId }
  const bootId = randomUUID()
  let trust: TrustStore | null = pinned ? openTrust(pinned, { tenantId }) : null
  let state: GatewayState | null = null
  /** Peers whose time has come and of whom nobody was told. */
  const ended: string[] = []
  /** What is enforced, as far as the caller has said so. */
  let enforced: { seq: number | null; error: string | null } | null = null
  const withChunks = createChunks(send, query)
  let pollSeconds = 30

  async function currentTrust(ask: Ask): Promise<TrustStore> {
    if (trust && !trust.isDue(now())) return trust
    try {
      await refreshTrust(ask)
    } catch (e) {
      // One that is merely due still judges, until its own end.
      if (!trust || ask.signal?.aborted) throw e
    }
    return trust ?? refuseWithoutTrust()
  }

  /** Whether there is another trust set than before. */
  async function refreshTrust({ signal }: Ask = {}): Promise<boolean> {
    const next = bodyOf(await send('gatewayTrustAnchors', { query }, { signal }))
    if (trust && !trust.accept(next, now())) return false
    trust ??= pinTrust(next, { tenantId, now: now() })
    await onTrust?.(trust.document)
    return true
  }

  async function verify(jws: string, ask: Ask): Promise<GatewayPolicy> {
    const judge = (held: TrustStore) => verifyGatewayPolicy(jws, { trust: held, tenantId, gatewayId, now: now() })
    const held = await currentTrust(ask)
    try {
      return judge(held)
    } catch (e) {
      const mayBeNewer = e instanceof VerificationError && e.code === 'unknown_key'
      if (!mayBeNewer || !(await refreshTrust(ask))) throw e
      return judge(held)
    }
  }

  /** Takes out the peers whose time has come; `takeEnded` says them once. */
  function upToDate(): GatewayState | null {
    if (state) ended.push(...dropEnded(state, now()))
    return state
  }
  function takeEnded(): GatewayChange | null {
    const removedPeers = upToDate() ? ended.splice(0) : []
    if (!state || removedPeers.length === 0) return null
    const nothing = { moved: [], peers: [], revokedDevices: [], revokedSessions: [] }
    return { kind: 'ended', seq: state.seq, ...nothing, removedPeers }
  }

  /**
   * Brings the state up to date: a delta on what is held, also where that is no longer in force, or a snapshot, of which
   * only the chunks that changed are fetched. A delta that does not fit is replaced by a snapshot. Answers what changed,
   * null for nothing. On any failure the state before stays.
   */
  async function pull({ wait = 0, signal }: Ask & { wait?: number } = {}): Promise<GatewayChange | null> {
    const inForce = state !== null && now() < state.expiresAt
    let known: Known | undefined = state ? { since: state.seq, as_of: state.generatedAt.toISOString() } : undefined
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      const found = await pullOnce({ known, wait: inForce && attempt === 1 ? wait : 0, signal })
      if (found !== 'unfit') return found
      known = undefined
    }
    return null
  }

  type Known = { since: number; as_of: string }
  type Pull = { known: Known | undefined; wait: number; signal: AbortSignal | undefined }
  async function pullOnce({ known, wait, signal }: Pull): Promise<GatewayChange | null | 'unfit'> {
    const reply = await send('unifiedPolicy', { query: { ...query, ...known } }, { wait, signal })
    if (reply.status === 304) return null
    const body = bodyOf(reply)
    const named = await verify(body.policy, { signal })
    pollSeconds = body.poll_seconds
    const policy = await withChunks(named, signal)
    if (!policy) return 'unfit'
    upToDate()
    let applied: ReturnType<typeof applyPolicy>
    try {
      applied = applyPolicy(state, policy)
    } catch (e) {
      const unfit = e instanceof VerificationError && policy.kind === 'delta' && e.code !== 'rollback'
      if (!unfit) throw e
      return 'unfit'
    }
    const moved = !state || applied.state.seq !== state.seq || policy.kind === 'snapshot' || says(applied.change)
    state = applied.state
    upToDate()
    return moved ? applied.change : null
  }

  /**
   * Pulls until aborted, then settles. Rejects when the secret is refused. A change counts as applied when `onChange`
   * has settled; one that fails is told again, as all that there is, after a pause.
   */
  async function runPulling({ signal, onChange, onError, wait = 25 }: PullingOptions): Promise<void> {
    const end = new AbortController()
    const over = AbortSignal.any([signal, end.signal])
    let mustTellAll = false
    // One change at a time, those that time makes among them.
    let told: Promise<boolean> = Promise.resolve(true)
    const tell = (change: GatewayChange | null): Promise<boolean> => {
      told = told.then(async () => {
        const current = upToDate()
        if (!current || !(change || mustTellAll)) return true
        const { seq } = current
        try {
          await onChange(change && !mustTellAll ? change : wholeOf(current), current)
          mustTellAll = false
          enforced = { seq, error: null }
          return true
        } catch (e) {
          mustTellAll = true
          enforced = { seq: enforced?.seq ?? null, error: e instanceof Error ? e.message : String(e) }
          onError?.(e)
          return false
        }
      })
      return told
    }
    const watch = async () => {
      while (!over.aborted) {
        const left = state ? (state.nextEnd - now().getTime()) / 1000 : 1
        await sleep(Math.min(1, Math.max(0.005, left)), over).catch(() => undefined)
        const change = takeEnded()
        if (change) await tell(change)
      }
    }
    const watching = watch()
    try {
      await keepPulling()
    } finally {
      end.abort()
      await watching
    }

    async function keepPulling(): Promise<void> {
      let failures = 0
      let idle = 0
      while (!signal.aborted) {
        let pause: number
        let change: GatewayChange | null = null
        try {
          const asked = performance.now()
          change = await pull({ wait: Math.max(1, Math.min(55, Math.round(jitter(wait, random)))), signal })
          idle = change || performance.now() - asked > 1000 ? 0 : idle + 1
          // A server that answers at once though nothing changed does not hold pulls: ask as often as it advises.
          pause = idle < 3 ? 0 : jitter(pollSeconds, random)
          if (await tell(change)) failures = 0
          else pause = pauseAfter(++failures, undefined)
        } catch (e) {
          if (signal.aborted) return
          if (e instanceof ApiError && e.status === 401) throw e
          onError?.(e)
          pause = pauseAfter(++failures, e)
        }
        await sleep(pause, signal).catch((e) => {
          if (!signal.aborted) throw e
        })
        // What could not be applied is tried again before the next request is held.
        if (mustTellAll && !signal.aborted) await tell(null)
      }
    }
  }

  /** Never longer than a fraction of what is left of the state, so that it is renewed before its end if at all. */
  function pauseAfter(failures: number, e: unknown): number {
    const own = backoffSeconds(failures, e, random, longestPause)
    const left = state ? (state.expiresAt.getTime() - now().getTime()) / 1000 : own
    return left > 1 ? Math.min(own, Math.max(1, left / 2)) : own
  }

  return {
    bootId,
    get state(): GatewayState | null {
      return upToDate()
    },
    get trust(): SignedTrustSet | null {
      return trust?.document ?? null
    },
    pull,
    /** Says that what the last pull gave is enforced. `runPulling` says so by itself. */
    confirm: (): void => {
      if (state) enforced = { seq: state.seq, error: null }
    },
    refreshTrust,
    runPulling,
    heartbeat: async (beat: Beat, { signal }: Ask = {}) => {
      const applied = {
        ...(enforced?.seq != null && { policy_seq: enforced.seq }),
        ...(trust && { trust_version: trust.version }),
      }
      return bodyOf(await send('heartbeat', { query, body: { ...beat, boot_id: bootId, applied } }, { signal }))
    },
    meter: createMeter(send, { bootId, query, now, random }),
  }
}
export type Gateway = ReturnType<typeof openGateway>

function refuseWithoutTrust(): never {
  throw new VerificationError('trust_expired', 'there is no trust set to judge by')
}

/** Whether a delta of the same `seq` says something: what time alone has changed. */
const says = ({ moved, peers, removedPeers, revokedDevices, revokedSessions }: GatewayChange): boolean =>
  [moved, peers, removedPeers, revokedDevices, revokedSessions].some((list) => list.length > 0)

/** Everything there is, for who could not apply a change: what is not named is no peer. */
const wholeOf = ({ seq, peers, revokedDevices, revokedSessions }: GatewayState): GatewayChange => ({
  kind: 'snapshot',
  seq,
  moved: [],
  peers: [...peers.keys()],
  removedPeers: [],
  revokedDevices: [...revokedDevices],
  revokedSessions: [...revokedSessions],
})
