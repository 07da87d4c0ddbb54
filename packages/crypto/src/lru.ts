export type Lru<K, V> = { get(key: K): V | undefined; set(key: K, value: V): void; readonly size: number }

/** Least recently used goes first; a Map iterates in insertion order, so re-inserting on use keeps that order. */
export function createLru<K, V>(capacity: number): Lru<K, V> {
  const entries = new Map<K, V>()
  return {
    get(key) {
      const value = entries.get(key)
      if (value !== undefined) {
        entries.delete(key)
        entries.set(key, value)
      }
      return value
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size <= capacity) return
      for (const oldest of entries.keys()) {
        entries.delete(oldest)
        return
      }
    },
    get size() {
      return entries.size
    },
  }
}
