import { backoffSeconds, type Random } from './backoff.ts'
import type { DevicePolicy } from './policy-verifier.ts'

type ApplierOptions = {
  /** The policy in force. */
  policy: () => DevicePolicy | null
  onPolicy: (policy: DevicePolicy | null) => void | Promise<void>
  onError: (error: unknown) => void
  now: () => Date
  random: Random
}

/** Seconds between two attempts to apply the same policy. */
const longestPause = 15
/** A machine that slept is behind its timers by no more than this. */
const longestTimerMs = 60_000

/**
 * Tells of each policy that comes into force and of its end, one at a time. It counts as told when the callback has
 * settled; what could not be applied is told again, until it is or something newer is in force.
 */
export function createPolicyApplier({ policy, onPolicy, onError, now, random }: ApplierOptions) {
  let told: string | null = null
  let failed: { digest: string | null; times: number; retryAt: number } | undefined
  let timer: NodeJS.Timeout | undefined
  let last: Promise<void> = Promise.resolve()
  let isStopped = false

  async function run(): Promise<void> {
    if (isStopped) return
    const current = policy()
    const digest = current?.digest ?? null
    const isTooSoon = failed?.digest === digest && performance.now() < failed.retryAt
    if (digest !== told && !isTooSoon) {
      try {
        await onPolicy(current)
        told = digest
        failed = undefined
      } catch (e) {
        const times = (failed?.digest === digest ? failed.times : 0) + 1
        failed = { digest, times, retryAt: performance.now() + backoffSeconds(times, e, random, longestPause) * 1000 }
        onError(e)
      }
    }
    const untilEnd = current ? current.expiresAt.getTime() - now().getTime() : longestTimerMs
    const untilRetry = failed ? failed.retryAt - performance.now() : longestTimerMs
    clearTimeout(timer)
    if (!isStopped && (current || failed))
      timer = setTimeout(apply, Math.max(1, Math.min(untilEnd, untilRetry, longestTimerMs)))
  }

  /** Never rejects. */
  function apply(): Promise<void> {
    last = last.then(run)
    return last
  }
  return {
    apply,
    /** What was begun is waited for. */
    stop: async (): Promise<void> => {
      isStopped = true
      clearTimeout(timer)
      await last
    },
  }
}
