import { BoundedMap } from '../kernel/bounded-map.ts'
import type { Changes } from './changes.ts'
import type { Feed } from './feed.ts'

/**
 * What a credential's digest stands for, remembered until a change touches one of its subjects (`kind:uuid`). While
 * this replica's memory is not proven fresh nothing remembered is used: every look-up asks the database.
 */
export function createCredentialCache<V extends object>(deps: {
  max: number
  feed: Pick<Feed, 'isFresh'>
  changes: Changes
  load: (key: string) => Promise<V | undefined>
  subjectsOf: (value: V) => readonly string[]
}) {
  const keysBySubject = new Map<string, Set<string>>()
  const entries = new BoundedMap<string, V>(deps.max, (key, value) => unindex(key, value))
  // Counts changes: what was loaded while one arrived may be older than it, and is used once but not kept.
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
  deps.changes.onChange((_tenant, _seq, changes) => {
    changesSeen++
    for (const { kind, subject } of changes)
      for (const key of [...(keysBySubject.get(`${kind}:${subject}`) ?? [])]) {
        const value = entries.get(key)
        entries.delete(key)
        if (value) unindex(key, value)
      }
  })
  const load = async (key: string) => {
    const before = changesSeen
    const value = await deps.load(key)
    if (value && before === changesSeen && deps.feed.isFresh()) keep(key, value)
    return value
  }

  return {
    get: (key: string): V | undefined | Promise<V | undefined> =>
      (deps.feed.isFresh() && entries.get(key)) || load(key),
  }
}
