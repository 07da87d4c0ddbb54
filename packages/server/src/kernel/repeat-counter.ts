import type { TenantId } from './actor.ts'
import { minute } from './time.ts'

/** Limit of keys counted at a time. Beyond it, items are counted together per tenant. */
const mostKeys = 10_000
/** Number of minutes for which unrecorded counts are kept and retried. */
const mostFailures = 10

/**
 * Limits audit events of frequent occurrences: the first of a key is recorded at once, the others of the same minute
 * together with their count at its end.
 */
export function createRepeatCounter<T extends { tenantId: TenantId }>(deps: {
  keyOf: (item: T) => string
  record: (item: T, count: number) => Promise<unknown>
  onError: (e: Error) => void
  /** Limit of separately counted keys of one tenant. */
  mostOfTenant?: number
  /** Item as which items beyond these limits are counted; by default the first of them in their tenant. */
  overflow?: (item: T) => T
  /** Merges an item into the one that is recorded with the count; by default the first item is recorded. */
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
  /** Returns the key under which an item is counted, and the counted item. */
  function placeOf(item: T): [key: string, item: T] {
    const key = deps.keyOf(item)
    const isFull = running.size >= mostKeys || (keysOf.get(item.tenantId) ?? 0) >= mostOfTenant
    if (!isFull || running.has(key)) return [key, item]
    if (!deps.overflow) return [item.tenantId, item]
    const other = deps.overflow(item)
    return [deps.keyOf(other), other]
  }

  return {
    /** Settles when the first item is recorded; at once for the others. */
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
    /** Records all present counts, at a stop. */
    flush: async (): Promise<void> => {
      for (const key of [...running.keys()]) await close(key).catch(deps.onError)
    },
  }
}
