import type { TenantId } from './actor.ts'
import { minute } from './time.ts'

/** More keys than this at a time are counted together with those of their tenant that come after them. */
const mostKeys = 10_000

/**
 * What happens too often to be put on record each time: the first of a key is recorded at once, the others of its
 * minute together with their count when that is over.
 */
export function createTally<T extends { tenantId: TenantId }>(deps: {
  keyOf: (item: T) => string
  record: (item: T, count: number) => Promise<unknown>
  onError: (e: Error) => void
}) {
  const running = new Map<string, { item: T; more: number; timer: NodeJS.Timeout }>()

  async function close(key: string): Promise<void> {
    const found = running.get(key)
    if (!found) return
    running.delete(key)
    clearTimeout(found.timer)
    if (found.more > 0) await deps.record(found.item, found.more)
  }

  return {
    /** Settles once the first is on record; at once for the others. */
    count: async (item: T): Promise<void> => {
      const key = running.size < mostKeys ? deps.keyOf(item) : item.tenantId
      const found = running.get(key)
      if (found) {
        found.more++
        return
      }
      const timer = setTimeout(() => void close(key).catch(deps.onError), minute).unref()
      running.set(key, { item, more: 0, timer })
      await deps.record(item, 1)
    },
    /** Writes what was counted so far; at stop. */
    flush: async (): Promise<void> => {
      for (const key of [...running.keys()]) await close(key).catch(deps.onError)
    },
  }
}
