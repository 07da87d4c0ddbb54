import { backoffSeconds, jitter, type Random, sleep } from './backoff.ts'
import { createApplier } from './device-applier.ts'
import type { PullingOptions } from './gateway-pulling.ts'
import type { GatewayTrust } from './gateway-trust.ts'
import { createLagPatience } from './lagging.ts'
import { safely } from './safely.ts'

type FollowingOptions = Pick<PullingOptions, 'signal' | 'onError' | 'wait'> & {
  onCrls: NonNullable<PullingOptions['onCrls']>
}

/** Seconds between two requests while they fail. */
const longestPause = 30
/** Seconds between two where something new comes at once, and where nothing new does though it was to be held. */
const shortestPause = 1
const unheldPause = 60

/**
 * Keeps the trust set and the revocation lists current until aborted, then settles: one request, beside that for the
 * policy, is held at the server until one of them is another.
 */
export async function followTrust(
  trust: GatewayTrust,
  { signal, onCrls, onError, wait = 25 }: FollowingOptions,
  { now, random }: { now: () => Date; random: Random },
): Promise<void> {
  const report = safely(onError)
  const applier = createApplier({
    current: () => trust.crls.current,
    textOf: ({ lists }) => lists.map(({ issuer, number }) => `${issuer} ${number}`).join(),
    ...{ onChange: onCrls, onError: report, now, random },
  })
  const lag = createLagPatience()
  let failures = 0
  try {
    await applier.apply()
    while (!signal.aborted) {
      const asked = performance.now()
      let pause: number
      try {
        const held = failures > 0 || lag.isAwaited ? 0 : Math.max(1, Math.min(55, Math.round(jitter(wait, random))))
        const isSame = !(await trust.follow({ wait: held, signal }))
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
