import { BoundedMap } from '../../../../kernel/bounded-map.ts'
import { hour, minute, second } from '../../../../kernel/time.ts'

const heldForMs = hour
const failureHeldForMs = 5 * second
const renewEveryMs = minute
const maxEntries = 500

type Entry<T> = {
  held?: { value: T; asOf: number }
  failure?: { error: unknown; at: number }
  renewedAt?: number
  running?: Promise<T>
}

/**
 * Cache of documents that providers publish. An entry is valid for an hour and is never used after it: callers then
 * wait for a new read, and fail while it fails. Concurrent callers share a read. A failure is reused for a few seconds,
 * so that callers do not wait for an unavailable provider one after another.
 */
export function createFetched<T>(load: (key: string) => Promise<T>, nowMs: () => number) {
  const entries = new BoundedMap<string, Entry<T>>(maxEntries)
  const isWithin = (since: number | undefined, ms: number) => since !== undefined && nowMs() - since < ms

  function entryOf(key: string): Entry<T> {
    const entry = entries.get(key) ?? {}
    entries.set(key, entry)
    return entry
  }
  function fetch(key: string, entry: Entry<T>): Promise<T> {
    entry.running ??= run(key, entry).finally(() => delete entry.running)
    return entry.running
  }
  async function run(key: string, entry: Entry<T>): Promise<T> {
    const asOf = nowMs()
    try {
      const value = await load(key)
      entry.held = { value, asOf }
      return value
    } catch (error) {
      entry.failure = { error, at: nowMs() }
      throw error
    }
  }

  return {
    get: async (key: string): Promise<T> => {
      const entry = entryOf(key)
      if (entry.held && isWithin(entry.held.asOf, heldForMs)) return entry.held.value
      if (entry.failure && isWithin(entry.failure.at, failureHeldForMs)) throw entry.failure.error
      return fetch(key, entry)
    },
    /** Reads the document again, for an administrator who tests the provider. */
    anew: (key: string): Promise<T> => fetch(key, entryOf(key)),
    /** Reads the document again, at most once a minute, because it may be out of date. Undefined within that minute. */
    renew: async (key: string): Promise<T | undefined> => {
      const entry = entryOf(key)
      if (entry.running) return entry.running
      if (isWithin(entry.renewedAt, renewEveryMs)) return undefined
      entry.renewedAt = nowMs()
      return fetch(key, entry)
    },
  }
}
