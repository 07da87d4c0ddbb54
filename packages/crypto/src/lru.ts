export type Lru<K, V> = { get(key: K): V | undefined; set(key: K, value: V): void; readonly size: number }

/** Least recently used goes first; a Map iterates in insertion order, so re-inserting on use keeps that order. */
export function createLru<K, V>(capacity: number): Lru<K, V> {
  const entries = new Map<K, V>()
  // Stays where the oldest is: looking from the front anew would pass every slot that was emptied.
  let oldest: MapIterator<K> | undefined
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
      oldest ??= entries.keys()
      const { value: first } = oldest.next()
      if (first !== undefined) entries.delete(first)
    },
    get size() {
      return entries.size
    },
  }
}
