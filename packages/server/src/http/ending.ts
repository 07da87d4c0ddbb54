import { setTimeout as delay } from 'node:timers/promises'
import type { Draining, Listening } from './draining.ts'

type Step = () => unknown

/** How a replica ends: whoever waits is answered, what waits in memory is written, and the database is let go. */
export function createEnding({
  health,
  draining,
  listeners,
  letGo,
  writes,
  release,
  onError,
}: {
  health: { close: () => void }
  draining: Draining
  listeners: readonly Listening[]
  /** Answers who is held. */
  letGo: readonly Step[]
  writes: readonly Step[]
  /** Last, one after the other. */
  release: readonly Step[]
  onError: (e: unknown) => void
}) {
  let drained: Promise<void> | undefined
  /** Not ready at once; serves on for a while, then answers who waits and finishes what runs. */
  const drain = (seconds: number): Promise<void> => {
    drained ??= (async () => {
      health.close()
      draining.begin()
      await delay(seconds * 1000)
      for (const step of letGo) step()
      await Promise.all(listeners.map(draining.finish))
    })()
    return drained
  }
  return {
    drain,
    /** What waits in memory is written and the database is let go, after the last request. */
    stop: async (): Promise<void> => {
      await drain(0)
      const writing = writes.map(async (write) => write())
      for (const written of await Promise.allSettled(writing))
        if (written.status === 'rejected') onError(written.reason)
      for (const step of release) await step()
    },
  }
}
