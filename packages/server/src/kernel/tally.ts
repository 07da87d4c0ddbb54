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
  /** How many keys of one tenant are counted apart. */
  mostOfTenant?: number
  /** The item that the items beyond these bounds are counted as; without it, the first of them in their tenant. */
  overflow?: (item: T) => T
  /** Adds what an item says to the one that is recorded with the count; without it, the first item says all. */
  merge?: (held: T, item: T) => void
}) {
  type Running = { item: T; more: number; failures: number; timer: NodeJS.Timeout }
  const running = new Map<string, Running>()
  const keysOf = new Map<TenantId, number>()
  const { mostOfTenant = mostKeys, merge } = deps

  function note(tenant: TenantId, change: 1 | -1): void {
    const keys = (keysOf.get(tenant) ?? 0) + change
    if (keys > 0) keysOf.set(tenant, keys)
    else keysOf.delete(tenant)
  }
  function open(key: string, one: Omit<Running, 'timer'>): Running {
    const timer = setTimeout(() => void close(key).catch(deps.onError), minute).unref()
    const opened = { ...one, timer }
    running.set(key, opened)
    note(one.item.tenantId, 1)
    return opened
  }
  function add(found: Running, item: T, count: number): void {
    if (merge && found.more === 0) found.item = item
    else merge?.(found.item, item)
    found.more += count
  }
  async function close(key: string): Promise<void> {
    const found = running.get(key)
    if (!found) return
    running.delete(key)
    note(found.item.tenantId, -1)
    clearTimeout(found.timer)
    if (found.more === 0) return
    const { item, more } = found
    try {
      await deps.record(item, more)
    } catch (e) {
      const next = running.get(key)
      if (next) add(next, item, more)
      else if (found.failures < mostFailures) open(key, { item, more, failures: found.failures + 1 })
      throw e
    }
  }
  /** The key under which an item is counted, and the item that is counted there. */
  function placeOf(item: T): [key: string, item: T] {
    const key = deps.keyOf(item)
    const isFull = running.size >= mostKeys || (keysOf.get(item.tenantId) ?? 0) >= mostOfTenant
    if (!isFull || running.has(key)) return [key, item]
    if (!deps.overflow) return [item.tenantId, item]
    const other = deps.overflow(item)
    return [deps.keyOf(other), other]
  }

  return {
    /** Settles once the first is on record; at once for the others. */
    count: async (given: T): Promise<void> => {
      const [key, item] = placeOf(given)
      const found = running.get(key)
      if (found) return add(found, item, 1)
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
