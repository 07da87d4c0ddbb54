import { randomUUID } from 'node:crypto'
import type { Contract, Input } from '@holdfast/contract'
import type { Dispatcher } from 'undici'
import { backoffSeconds, jitter, type Random, sleep } from './backoff.ts'
import { ApiError, VerificationError } from './errors.ts'
import { createMeter } from './gateway-metering.ts'
import { applyPolicy, type GatewayChange, type GatewayState } from './gateway-state.ts'
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
  let pollSeconds = 30

  async function currentTrust(ask: Ask): Promise<TrustStore> {
    if (trust && !trust.isDue(now())) return trust
    try {
      await refreshTrust(ask)
    } catch (error) {
      // One that is merely due still judges, until its own end.
      if (!trust || ask.signal?.aborted) throw error
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
    } catch (error) {
      const mayBeNewer = error instanceof VerificationError && error.code === 'unknown_key'
      if (!mayBeNewer || !(await refreshTrust(ask))) throw error
      return judge(held)
    }
  }

  /**
   * Brings the state up to date: a delta on what is held, or a snapshot; a delta that does not fit is replaced by a snapshot. Answers
   * what changed, null for nothing. On any failure the state before stays in force.
   */
  async function pull({ wait = 0, signal }: Ask & { wait?: number } = {}): Promise<GatewayChange | null> {
    // What has expired proves nothing about the present, so it is not built upon.
    const since = state && now() < state.expiresAt ? state.seq : undefined
    const first = await pullOnce({ since, wait: since === undefined ? 0 : wait, signal })
    if (first !== 'unfit') return first
    const second = await pullOnce({ since: undefined, wait: 0, signal })
    return second === 'unfit' ? null : second
  }

  type Pull = { since: number | undefined; wait: number; signal: AbortSignal | undefined }
  async function pullOnce({ since, wait, signal }: Pull): Promise<GatewayChange | null | 'unfit'> {
    const reply = await send('unifiedPolicy', { query: { ...query, since } }, { wait, signal })
    if (reply.status === 304) return null
    const body = bodyOf(reply)
    const policy = await verify(body.policy, { signal })
    pollSeconds = body.poll_seconds
    let applied: ReturnType<typeof applyPolicy>
    try {
      applied = applyPolicy(state, policy)
    } catch (error) {
      const unfit = error instanceof VerificationError && policy.kind === 'delta' && error.code !== 'rollback'
      if (!unfit) throw error
      return 'unfit'
    }
    const moved = !state || applied.state.seq !== state.seq || policy.kind === 'snapshot'
    state = applied.state
    return moved ? applied.change : null
  }

  /** Pulls until aborted, then settles. Rejects when the secret is refused. */
  async function runPulling({ signal, onChange, onError, wait = 25 }: PullingOptions): Promise<void> {
    let failures = 0
    let idle = 0
    while (!signal.aborted) {
      let pause: number
      let change: GatewayChange | null = null
      try {
        const asked = performance.now()
        change = await pull({ wait: Math.max(1, Math.min(55, Math.round(jitter(wait, random)))), signal })
        idle = change || performance.now() - asked > 1000 ? 0 : idle + 1
        failures = 0
        // A server that answers at once though nothing changed does not hold pulls: ask as often as it advises.
        pause = idle < 3 ? 0 : jitter(pollSeconds, random)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ApiError && error.status === 401) throw error
        onError?.(error)
        pause = backoffSeconds(++failures, error, random)
      }
      if (change && state) await onChange(change, state)
      await sleep(pause, signal).catch((error) => {
        if (!signal.aborted) throw error
      })
    }
  }

  return {
    bootId,
    get state(): GatewayState | null {
      return state
    },
    get trust(): SignedTrustSet | null {
      return trust?.document ?? null
    },
    pull,
    refreshTrust,
    runPulling,
    heartbeat: async (beat: Beat, { signal }: Ask = {}) => {
      const applied = {
        ...(state && { policy_seq: state.seq }),
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
