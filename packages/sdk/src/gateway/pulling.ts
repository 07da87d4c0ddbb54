import { backoffSeconds, jitter, type Random, sleep } from '../backoff.ts'
import { ApiError, ConnectionError } from '../errors.ts'
import { safely } from '../safely.ts'
import { createWaitLimit } from '../wait-limit.ts'
import { type createApplier, wholeOf } from './applier.ts'
import type { GatewayCrls } from './crls.ts'
import type { Holder } from './holder.ts'
import type { GatewayChange, GatewayState } from './state.ts'

/**
 * Status of the gateway at its control plane. `connected`: the held state is the newest. `unreachable`: there is no
 * answer, or none that can be verified. `refused`: the secret is refused (401). In each status the held state stays in
 * force until `state.expiresAt`, and pulling continues without a restart.
 */
export type GatewayStatus = {
  status: 'connected' | 'unreachable' | 'refused'
  /** Start of this status. */
  since: Date
  /** The error, if there was one. */
  error?: unknown
}

export type PullingOptions = {
  signal: AbortSignal
  /**
   * Enforces a change: all of `state` must be enforced when it settles. If it throws or rejects, the change does not
   * count as applied: heartbeats report that, and the whole state is passed again until it is applied. One call at a
   * time.
   */
  onChange: (change: GatewayChange, state: GatewayState) => void | Promise<void>
  /**
   * Called with the `seq` that `onChange` has applied. An agent sends a heartbeat then, so that the control plane knows
   * at once. It is not awaited; its errors go to `onError`.
   */
  onApplied?: (seq: number) => void | Promise<void>
  /**
   * If set, the revocation lists of device certificates are followed too. Called with the lists in force, first the
   * saved ones, and with null after the end of one of them. One call at a time. If it throws or rejects, it is called
   * again, until it settles or newer lists are in force.
   */
  onCrls?: (crls: GatewayCrls | null) => void | Promise<void>
  /** Called at each change of the status. */
  onStatus?: (status: GatewayStatus) => void
  /**
   * Called with each error that does not end the pulling: `VerificationError`, `ConnectionError`, `ApiError`, and those
   * of `onChange` and `onCrls`.
   */
  onError?: (error: unknown) => void
  /** Seconds that the server may hold a pull, ± 20 %; default 25. */
  wait?: number
}

/**
 * Longest pause in seconds. It limits the delay after an outage of the control plane; a policy is valid for 15 minutes.
 */
const longestPause = 12

/** Pulls until aborted, then settles; see `PullingOptions`. Nothing else ends it. */
export async function runPulling(
  holder: Holder,
  { signal, onChange, onApplied = () => {}, onStatus, onError = () => {}, wait = 25 }: PullingOptions,
  { applier, now, random }: { applier: ReturnType<typeof createApplier>; now: () => Date; random: Random },
): Promise<void> {
  let applied: number | null = null
  async function hand(change: GatewayChange | null): Promise<void> {
    await applier.hand(change, onChange, safely(onError))
    const { seq, failure } = applier.enforced ?? { seq: null, failure: null }
    if (seq === null || failure || seq === applied) return
    applied = seq
    new Promise((resolve) => resolve(onApplied(seq))).catch(safely(onError))
  }
  const tell = createTeller(safely(onStatus), now)

  /** Passes on changes by time alone, and retries changes that could not be applied. */
  async function watch(): Promise<void> {
    while (!signal.aborted) {
      const left = (holder.nextEnd - now().getTime()) / 1000
      await sleep(Math.min(1, Math.max(0.005, left)), signal).catch(() => undefined)
      const change = signal.aborted ? null : holder.takeEnded()
      if (change || (applier.isRetryDue && !signal.aborted)) await hand(change)
    }
  }

  async function keepPulling(): Promise<void> {
    let failures = 0
    let idle = 0
    const limit = createWaitLimit()
    /** The first request, and each one after a failure, does not wait, so that it shows the present state at once. */
    let mayHold = false
    while (!signal.aborted) {
      const asked = performance.now()
      const took = () => (performance.now() - asked) / 1000
      let pause: number
      let held = 0
      try {
        const wanted = limit.bound(Math.min(55, jitter(wait, random)), random)
        held = mayHold ? Math.max(1, Math.round(wanted)) : 0
        const change = await holder.pull({ wait: held, signal })
        failures = 0
        tell('connected')
        await hand(change)
        idle = change || took() > 1 || !mayHold ? 0 : idle + 1
        mayHold = true
        // A server that answers at once without a change does not support long polls: use its polling interval.
        pause = idle < 3 ? 0 : jitter(holder.pollSeconds, random)
      } catch (e) {
        if (signal.aborted) return
        const isRefused = e instanceof ApiError && e.status === 401
        mayHold = false
        // After a wait cut by a proxy, the next response comes without a wait and shows the server's state.
        if (!limit.cuts(e, { held, took: took() })) tell(isRefused ? 'refused' : 'unreachable', e)
        safely(onError)(e)
        pause = pauseAfter(++failures, e, took())
      }
      await sleep(pause, signal).catch((e) => {
        if (!signal.aborted) throw e
      })
    }
  }

  /** Returns a shorter pause if the policy ends soon. Time spent waiting for a connection counts. */
  function pauseAfter(failures: number, e: unknown, took: number): number {
    const own = backoffSeconds(failures, e, random, longestPause)
    const state = holder.inForce
    const left = state ? (state.expiresAt.getTime() - now().getTime()) / 1000 : own
    const soon = left > 1 ? Math.min(own, Math.max(1, left / 2)) : own
    return e instanceof ConnectionError ? Math.max(1, soon - took) : soon
  }

  // The state of an earlier run.
  if (holder.inForce) await hand(wholeOf(holder.inForce))
  await Promise.all([watch(), keepPulling()])
}

function createTeller(onStatus: (status: GatewayStatus) => void, now: () => Date) {
  let told: GatewayStatus['status'] | undefined
  return (status: GatewayStatus['status'], error?: unknown): void => {
    if (status === told) return
    told = status
    onStatus({ status, since: now(), ...(error !== undefined && { error }) })
  }
}
