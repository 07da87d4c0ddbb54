import { backoffSeconds, jitter, type Random, sleep } from '../backoff.ts'
import { createWaitLimit } from '../wait-limit.ts'
import { createLagPatience } from './lagging.ts'

type Following = {
  signal: AbortSignal
  /** Sends one request; the server may hold the response for `wait` seconds. Returns true if there is new data. */
  ask: (wait: number) => Promise<boolean>
  /** Seconds that the next response may be held. */
  hold: () => number
  /** Applies the data in force. */
  apply: () => Promise<void>
  /** Called with each error that does not end the loop. */
  report: (error: unknown) => void
  /** Longest pause in seconds between two failing requests. */
  longestPause: number
  random: Random
}

/**
 * Pauses in seconds: after new data that came at once, and after an immediate response without new data to a request
 * that was to be held.
 */
const shortestPause = 1
const unheldPause = 60

/** Keeps data current until aborted, then settles. One request is held at the server until a change. */
export async function keepFollowing({ signal, ask, hold, apply, report, longestPause, random }: Following) {
  const lag = createLagPatience()
  const limit = createWaitLimit()
  let failures = 0
  await apply()
  while (!signal.aborted) {
    const asked = performance.now()
    let pause: number
    let held = 0
    try {
      // After a failure the next request does not wait, so that a recovery is seen at once.
      held = failures > 0 || lag.isAwaited ? 0 : Math.floor(limit.bound(hold(), random))
      const isNew = await ask(held)
      failures = 0
      lag.reset()
      const isAtOnce = performance.now() - asked < shortestPause * 1000
      pause = isAtOnce ? jitter(!isNew && held > 0 ? unheldPause : shortestPause, random) : 0
    } catch (e) {
      if (signal.aborted) return
      limit.cuts(e, { held, took: (performance.now() - asked) / 1000 })
      const isBorne = lag.bears(e)
      if (!isBorne) report(e)
      pause = isBorne ? jitter(shortestPause, random) : backoffSeconds(++failures, e, random, longestPause)
    }
    await apply()
    await sleep(pause, signal).catch((e) => {
      if (!signal.aborted) throw e
    })
  }
}
