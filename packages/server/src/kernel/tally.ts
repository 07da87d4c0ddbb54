import type { TenantId } from './actor.ts'
import { minute } from './time.ts'

/** More keys than this at a time are counted together with those of their tenant that come after them. */
const mostKeys = 10_000
/** So many minutes what could not be recorded is kept, to be recorded with the others. */
const mostFailures = 10

/**
 * What happens too often to be put on record each time: the first of a key is recorded at once, the others of its
 * minute together with their count when that is over.
 */
export function createTally<T extends { tenantId: TenantId }>(deps: {
  keyOf: (item: T) => string
  record: (item: T, count: number) => Promise<unknown>
  onError: (e: Error) => void
}) {
  type Running = { item: T; more: number; failures: number; timer: NodeJS.Timeout }
  const running = new Map<string, Running>()

  function open(key: string, one: Omit<Running, 'timer'>): Running {
    const timer = setTimeout(() => void close(key).catch(deps.onError), minute).unref()
    const opened = { ...one, timer }
    running.set(key, opened)
    return opened
  }
  async function close(key: string): Promise<void> {
    const found = running.get(key)
    if (!found) return
    running.delete(key)
    clearTimeout(found.timer)
    if (found.more === 0) return
    const { item, more } = found
    try {
      await deps.record(item, more)
    } catch (e) {
      const next = running.get(key)
      if (next) next.more += more
      else if (found.failures < mostFailures) open(key, { item, more, failures: found.failures + 1 })
      throw e
    }
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
      const first = open(key, { item, more: 0, failures: 0 })
      try {
        await deps.record(item, 1)
      } catch (e) {
        first.more++
        throw e
      }
    },
    /** Writes what was counted so far; at stop. */
    flush: async (): Promise<void> => {
      for (const key of [...running.keys()]) await close(key).catch(deps.onError)
    },
  }
}
