import { backoffSeconds, type Random } from '../backoff.ts'

type ApplierOptions<T> = {
  /** Returns the value in force. */
  current: () => T | null
  /** Returns a text that is equal for equal values. */
  textOf: (value: T) => string
  onChange: (value: T | null) => void | Promise<void>
  onError: (error: unknown) => void
  now: () => Date
  random: Random
}

/** Longest pause in seconds between two attempts to apply the same value. */
const longestPause = 15
/** Longest timer in ms. After a sleep of the machine, timers are late by at most this. */
const longestTimerMs = 60_000

/**
 * Calls `onChange` with each value that comes into force (a policy, a directory) and at its end, one call at a time. A
 * value counts as applied when the callback has settled. After a failure the call is repeated until it succeeds or a
 * newer value is in force.
 */
export function createApplier<T extends { expiresAt: Date }>({
  current,
  textOf,
  onChange,
  onError,
  now,
  random,
}: ApplierOptions<T>) {
  let told: string | null = null
  let failed: { text: string | null; times: number; retryAt: number } | undefined
  let timer: NodeJS.Timeout | undefined
  let last: Promise<void> = Promise.resolve()
  let isStopped = false

  async function run(): Promise<void> {
    if (isStopped) return
    const value = current()
    const text = value && textOf(value)
    const isTooSoon = failed?.text === text && performance.now() < failed.retryAt
    if (text !== told && !isTooSoon) {
      try {
        await onChange(value)
        told = text
        failed = undefined
      } catch (e) {
        const times = (failed?.text === text ? failed.times : 0) + 1
        failed = { text, times, retryAt: performance.now() + backoffSeconds(times, e, random, longestPause) * 1000 }
        onError(e)
      }
    }
    const untilEnd = value ? value.expiresAt.getTime() - now().getTime() : longestTimerMs
    const untilRetry = failed ? failed.retryAt - performance.now() : longestTimerMs
    clearTimeout(timer)
    if (!isStopped && (value || failed))
      timer = setTimeout(apply, Math.max(1, Math.min(untilEnd, untilRetry, longestTimerMs)))
  }

  /** Never rejects. */
  function apply(): Promise<void> {
    last = last.then(run)
    return last
  }
  return {
    apply,
    /** Waits for the running call. */
    stop: async (): Promise<void> => {
      isStopped = true
      clearTimeout(timer)
      await last
    },
  }
}
