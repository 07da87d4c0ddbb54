import type { Source } from './actor.ts'
import { minute } from './time.ts'

/** More sources than this at a time are counted together with those that come after them. */
const mostSources = 10_000

/**
 * What happens too often to be put on record each time: the first of a source is recorded at once, the others of its
 * minute together with their count when that is over.
 */
export function createTally(deps: {
  record: (source: Source, count: number) => Promise<unknown>
  onError: (e: Error) => void
}) {
  const running = new Map<string, { source: Source; more: number; timer: NodeJS.Timeout }>()
  const keyOf = ({ tenantId, type, id, name }: Source) => `${tenantId} ${type} ${id} ${name}`

  async function close(key: string): Promise<void> {
    const found = running.get(key)
    if (!found) return
    running.delete(key)
    clearTimeout(found.timer)
    if (found.more > 0) await deps.record(found.source, found.more)
  }

  return {
    /** Settles once the first is on record; at once for the others. */
    count: async (source: Source): Promise<void> => {
      const key = running.size < mostSources ? keyOf(source) : source.tenantId
      const found = running.get(key)
      if (found) {
        found.more++
        return
      }
      const timer = setTimeout(() => void close(key).catch(deps.onError), minute).unref()
      running.set(key, { source, more: 0, timer })
      await deps.record(source, 1)
    },
    /** Writes what was counted so far; at stop. */
    flush: async (): Promise<void> => {
      for (const key of [...running.keys()]) await close(key).catch(deps.onError)
    },
  }
}
