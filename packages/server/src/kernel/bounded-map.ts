/** A map that drops its oldest entry beyond `max`. Reading does not renew an entry, so reads are plain look-ups. */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #max: number
  readonly #onForget: ((key: K, value: V) => void) | undefined
  // Iterator at the oldest entry. A new iterator would pass all deleted slots at the front.
  #oldest: MapIterator<[K, V]> | undefined
  constructor(max: number, onForget?: (key: K, value: V) => void) {
    this.#max = max
    this.#onForget = onForget
  }
  get size() {
    return this.#entries.size
  }
  get(key: K): V | undefined {
    return this.#entries.get(key)
  }
  set(key: K, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#max) return
    this.#oldest ??= this.#entries.entries()
    const { value: oldest } = this.#oldest.next()
    if (!oldest) return
    this.#entries.delete(oldest[0])
    this.#onForget?.(...oldest)
  }
  delete(key: K): boolean {
    return this.#entries.delete(key)
  }
  clear(): void {
    this.#entries.clear()
    this.#oldest = undefined
  }
  entries() {
    return this.#entries.entries()
  }
}
