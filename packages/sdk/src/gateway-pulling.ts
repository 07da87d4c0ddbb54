import { backoffSeconds, jitter, type Random, sleep } from './backoff.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { type createApplier, wholeOf } from './gateway-applier.ts'
import type { GatewayCrls } from './gateway-crls.ts'
import type { Holder } from './gateway-holder.ts'
import type { GatewayChange, GatewayState } from './gateway-state.ts'
import { safely } from './safely.ts'
import { createWaitLimit } from './wait-limit.ts'

/**
 * How the gateway stands with its control plane. `connected`: what is held is what it says now. `unreachable`: it gives
 * no answer, or one that can not be believed. `refused`: it does not take the secret (401). In each of them what is
 * held stays in force until `state.expiresAt`, and pulling goes on: nothing needs a restart.
 */
export type GatewayStatus = {
  status: 'connected' | 'unreachable' | 'refused'
  /** When it began. */
  since: Date
  /** What went wrong, where something did. */
  error?: unknown
}

export type PullingOptions = {
  signal: AbortSignal
  /**
   * Enforces a change: `state` is all that has to hold when it settles. Where it throws or rejects, the change does not
   * count as applied: heartbeats say so, and all that there is is handed over again until it is. One call at a time.
   */
  onChange: (change: GatewayChange, state: GatewayState) => void | Promise<void>
  /**
   * Called when what `onChange` settled for is in force, with its `seq`: an agent sends a heartbeat then, so that the
   * control plane knows at once. Nothing waits for it; what it throws or rejects with goes to `onError`.
   */
  onApplied?: (seq: number) => void | Promise<void>
  /**
   * With it the revocation lists of device certificates are followed beside the policy. Called with those that are in
   * force, the saved ones first, and with null when one of them has ended. One call at a time. Where it throws or
   * rejects, it is called again, until it settles or something newer is in force.
   */
  onCrls?: (crls: GatewayCrls | null) => void | Promise<void>
  /** Told of each move between the three. */
  onStatus?: (status: GatewayStatus) => void
  /**
   * Told of every failure that is survived: `VerificationError`, `ConnectionError`, `ApiError`, and those of
   * `onChange` and `onCrls`.
   */
  onError?: (error: unknown) => void
  /** Seconds that the server may hold a pull, ± 20 %; 25 unless said. */
  wait?: number
}

/** Seconds: a gateway is back this soon after its control plane, and a policy lives for 15 minutes. */
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

  /** What time alone changes, and what could not be applied. */
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
    /** At first, and after a failure, an answer is not held: it says at once how things stand. */
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
        // A server that answers at once though nothing changed does not hold pulls: ask as often as it advises.
        pause = idle < 3 ? 0 : jitter(holder.pollSeconds, random)
      } catch (e) {
        if (signal.aborted) return
        const isRefused = e instanceof ApiError && e.status === 401
        mayHold = false
        // After a wait that was cut on the way the next answer, which is not held, says how the server is.
        if (!limit.cuts(e, { held, took: took() })) tell(isRefused ? 'refused' : 'unreachable', e)
        safely(onError)(e)
        pause = pauseAfter(++failures, e, took())
      }
      await sleep(pause, signal).catch((e) => {
        if (!signal.aborted) throw e
      })
    }
  }

  /** Sooner where little is left of what is in force; time that went by without an answer counts. */
  function pauseAfter(failures: number, e: unknown, took: number): number {
    const own = backoffSeconds(failures, e, random, longestPause)
    const state = holder.inForce
    const left = state ? (state.expiresAt.getTime() - now().getTime()) / 1000 : own
    const soon = left > 1 ? Math.min(own, Math.max(1, left / 2)) : own
    return e instanceof ConnectionError ? Math.max(1, soon - took) : soon
  }

  // What an earlier run kept.
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
