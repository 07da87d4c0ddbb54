import { longestHoldSeconds } from '@holdfast/contract/limits'
import { jitter, type Random } from '../backoff.ts'
import { createApplier } from '../device/applier.ts'
import type { DeviceCore } from '../device/core.ts'
import { safely } from '../safely.ts'
import type { GatewayDirectory } from '../verify/directory-verifier.ts'
import { keepFollowing } from './following.ts'

export type FollowingOptions = {
  signal: AbortSignal
  /**
   * Called with the directory in force, first the saved one, with each changed one, and with null after the end of the
   * last valid one. One call at a time. If it throws or rejects, it is called again, until it settles or a newer
   * directory is in force.
   */
  onDirectory: (directory: GatewayDirectory | null) => void | Promise<void>
  /** Called with each error that does not end the loop, also those of `onDirectory`. */
  onError?: (error: unknown) => void
  /** Seconds that the server may hold a request, ± 20 %; default 240. */
  wait?: number
}

/** Longest pause in seconds between two failing requests. The device's polling reports the reason of a refusal. */
const longestPause = 60

/**
 * Keeps the directory current until aborted, then settles. One request is held at the server until a gateway or a route
 * changes. During a failure the directory stays in force until it expires.
 */
export async function followDirectory(
  device: DeviceCore,
  { signal, onDirectory, onError, wait = 240 }: FollowingOptions,
  { now, random }: { now: () => Date; random: Random },
): Promise<void> {
  const report = safely(onError)
  const applier = createApplier({
    current: () => device.directory,
    textOf: ({ pools }) => JSON.stringify(pools),
    onChange: onDirectory,
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
      ask: async (held) => {
        const before = device.directory
        return (await device.fetchDirectory({ wait: held, signal })) !== before
      },
      hold: () => Math.floor(Math.min(jitter(wait, random), longestHoldSeconds)),
    })
  } finally {
    await applier.stop()
  }
}
