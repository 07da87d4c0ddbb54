import { backoffSeconds, jitter, type Random, sleep } from './backoff.ts'
import type { Device } from './device.ts'
import { createApplier } from './device-applier.ts'
import type { GatewayDirectory } from './directory-verifier.ts'
import { createLagPatience } from './lagging.ts'
import { safely } from './safely.ts'

export type FollowingOptions = {
  signal: AbortSignal
  /**
   * Called with the directory in force, the saved one first, with each that says something else, and with null when the
   * last good one has ended. One call at a time. Where it throws or rejects, it is called again, until it settles or
   * something newer is in force.
   */
  onDirectory: (directory: GatewayDirectory | null) => void | Promise<void>
  /** Told of every failure that is survived, also of those of `onDirectory`. */
  onError?: (error: unknown) => void
  /** Seconds that the server may hold a request, ± 20 %; 240 unless said. */
  wait?: number
}

const longestWait = 300
/** Seconds between two requests while they fail; why a device is refused, its polling says. */
const longestPause = 60
/**
 * Seconds between two requests where something new comes at once, and where nothing new does though it was to be held.
 */
const shortestPause = 1
const unheldPause = 60

/**
 * Keeps the directory current until aborted, then settles: one request is held at the server until a gateway, or what
 * leads where, changes. Whatever fails, the directory stays in force until its own end.
 */
export async function followDirectory(
  device: Device,
  { signal, onDirectory, onError, wait = 240 }: FollowingOptions,
  { now, random }: { now: () => Date; random: Random },
): Promise<void> {
  const report = safely(onError)
  const applier = createApplier({
    current: () => device.directory,
    textOf: ({ pools }) => JSON.stringify(pools),
    onChange: onDirectory,
    ...{ onError: report, now, random },
  })
  const lag = createLagPatience()
  let failures = 0
  try {
    await applier.apply()
    while (!signal.aborted) {
      const asked = performance.now()
      let pause: number
      try {
        // After a failure the next answer is not held, so that it says at once that all is well again.
        const held = failures > 0 || lag.isAwaited ? 0 : Math.floor(Math.min(jitter(wait, random), longestWait))
        const before = device.directory
        const isSame = (await device.fetchDirectory({ wait: held, signal })) === before
        failures = 0
        lag.reset()
        const isAtOnce = performance.now() - asked < shortestPause * 1000
        pause = isAtOnce ? jitter(isSame && held > 0 ? unheldPause : shortestPause, random) : 0
      } catch (e) {
        if (signal.aborted) return
        const isBorne = lag.bears(e)
        if (!isBorne) report(e)
        pause = isBorne ? jitter(shortestPause, random) : backoffSeconds(++failures, e, random, longestPause)
      }
      await applier.apply()
      await sleep(pause, signal).catch((e) => {
        if (!signal.aborted) throw e
      })
    }
  } finally {
    await applier.stop()
  }
}
