import { BoundedMap } from '../kernel/bounded-map.ts'
import { everything } from './changes.ts'
import type { Memory } from './tenant-cache.ts'

const absentMs = 10_000

/**
 * Cache of credentials by digest, each kept until a change of one of its subjects (`kind:uuid`). While this replica's
 * cache is not proven fresh, callers wait for one comparison with the database.
 */
export function createCredentialCache<P extends { digest: Buffer }, V extends object>(
  deps: Memory & {
    max: number
    load: (presented: P) => Promise<V | undefined>
    subjectsOf: (value: V) => readonly string[]
  },
) {
  const keysBySubject = new Map<string, Set<string>>()
  const entries = new BoundedMap<string, V>(deps.max, (key, value) => unindex(key, value))
  // Credentials unknown to the database, with their expiry here. Repeated use costs no statement. An ended credential
  // does not become valid again, so an expiry suffices.
  const absent = new BoundedMap<string, number>(20_000)
  // Counts changes. A value whose load overlaps a change may be older than that change: it is used once but not cached.
  let changesSeen = 0

  const unindex = (key: string, value: V) => {
    for (const subject of deps.subjectsOf(value)) {
      const keys = keysBySubject.get(subject)
      keys?.delete(key)
      if (keys?.size === 0) keysBySubject.delete(subject)
    }
  }
  const keep = (key: string, value: V) => {
    entries.set(key, value)
    for (const subject of deps.subjectsOf(value)) {
      const keys = keysBySubject.get(subject) ?? new Set()
      keysBySubject.set(subject, keys.add(key))
    }
  }
  const forget = (subject: string) => {
    for (const key of [...(keysBySubject.get(subject) ?? [])]) {
      const value = entries.get(key)
      entries.delete(key)
      if (value) unindex(key, value)
    }
  }
  deps.changes.listen('values', {
    changed: (_tenant, changes) => {
      changesSeen++
      for (const { kind, subject } of changes)
        if (subject !== everything) forget(`${kind}:${subject}`)
        else for (const known of [...keysBySubject.keys()]) if (known.startsWith(`${kind}:`)) forget(known)
    },
    forgotten: () => {
      changesSeen++
      entries.clear()
      keysBySubject.clear()
      absent.clear()
    },
  })
  const load = async (key: string, presented: P) => {
    const before = changesSeen
    const value = await deps.load(presented)
    if (value && before === changesSeen) keep(key, value)
    if (!value) absent.set(key, performance.now() + absentMs)
    return value
  }
  const current = (key: string, presented: P) => {
    const known = entries.get(key)
    if (known) return known
    return (absent.get(key) ?? 0) > performance.now() ? undefined : load(key, presented)
  }

  return {
    get: (presented: P): V | undefined | Promise<V | undefined> => {
      const key = presented.digest.toString('base64url')
      return deps.feed.isFresh() ? current(key, presented) : deps.feed.catchUp().then(() => current(key, presented))
    },
  }
}
