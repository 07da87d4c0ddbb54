import { backoffSeconds, jitter, type Random, sleep } from './backoff.ts'
import { createLagPatience } from './lagging.ts'
import { createWaitLimit } from './wait-limit.ts'

type Following = {
  signal: AbortSignal
  /** Asks once; the server may hold the answer for so many seconds. Answers whether something is new. */
  ask: (wait: number) => Promise<boolean>
  /** Seconds that the next answer may be held. */
  hold: () => number
  /** Hands on what is in force. */
  apply: () => Promise<void>
  /** Told of every failure that is survived. */
  report: (error: unknown) => void
  /** Seconds between two requests while they fail. */
  longestPause: number
  random: Random
}

/**
 * Seconds between two requests where something new comes at once, and where nothing new does though it was to be held.
 */
const shortestPause = 1
const unheldPause = 60

/** Keeps something current until aborted, then settles: one request is held at the server until it changes. */
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
      // After a failure the next answer is not held, so that it says at once that all is well again.
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
