import { jitter, type Random } from './backoff.ts'
import { createApplier } from './device-applier.ts'
import type { DeviceCore } from './device-core.ts'
import type { GatewayDirectory } from './directory-verifier.ts'
import { keepFollowing } from './following.ts'
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
 * Keeps the directory current until aborted, then settles: one request is held at the server until a gateway, or what
 * leads where, changes. Whatever fails, the directory stays in force until its own end.
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
    ...{ onError: report, now, random },
  })
  try {
    await keepFollowing({
      ...{ signal, report, longestPause, random, apply: applier.apply },
      ask: async (held) => {
        const before = device.directory
        return (await device.fetchDirectory({ wait: held, signal })) !== before
      },
      hold: () => Math.floor(Math.min(jitter(wait, random), longestWait)),
    })
  } finally {
    await applier.stop()
  }
}
