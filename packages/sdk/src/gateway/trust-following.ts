import { jitter, type Random } from '../backoff.ts'
import { createApplier } from '../device/applier.ts'
import { safely } from '../safely.ts'
import { keepFollowing } from './following.ts'
import type { PullingOptions } from './pulling.ts'
import type { GatewayTrust } from './trust.ts'

type FollowingOptions = Pick<PullingOptions, 'signal' | 'onError' | 'wait'> & {
  onCrls: NonNullable<PullingOptions['onCrls']>
}

/** Longest pause in seconds between two failing requests. */
const longestPause = 30

/**
 * Keeps the trust set and the revocation lists current until aborted, then settles. One request, besides that for the
 * policy, is held at the server until one of them changes.
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
    onChange: onCrls,
    onError: report,
    now,
    random,
  })
  try {
    await keepFollowing({
      signal,
      report,
      longestPause,
      random,
      apply: applier.apply,
      ask: (held) => trust.follow({ wait: held, signal }),
      hold: () => Math.max(1, Math.min(55, Math.round(jitter(wait, random)))),
    })
  } finally {
    await applier.stop()
  }
}
