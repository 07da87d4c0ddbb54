import { setTimeout as delay } from 'node:timers/promises'
import type { Draining, ListeningServer } from '../http/connection/draining.ts'

type Step = () => unknown

/** Stops a replica: held requests are answered, pending data is written, and the database connections are closed. */
export function createShutdown({
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
  listeners: readonly ListeningServer[]
  /** Answers held requests. */
  letGo: readonly Step[]
  writes: readonly Step[]
  /** Final steps, one after the other. */
  release: readonly Step[]
  onError: (e: unknown) => void
}) {
  let drained: Promise<void> | undefined
  /** Reports not ready at once, serves for a while, then answers held requests and finishes running ones. */
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
    /** Writes pending data and closes the database connections, after the last request. */
    stop: async (): Promise<void> => {
      await drain(0)
      const writing = writes.map(async (write) => write())
      for (const written of await Promise.allSettled(writing))
        if (written.status === 'rejected') onError(written.reason)
      for (const step of release) await step()
    },
  }
}
