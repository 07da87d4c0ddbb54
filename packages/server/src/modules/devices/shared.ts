/** Maximum number of distinct values shared at once. Beyond it, sharing starts over. */
const most = 20_000

export function createShared<V>() {
  let shared = new Map<string, V>()
  return (key: string, make: () => V): V => {
    const known = shared.get(key)
    if (known !== undefined) return known
    if (shared.size >= most) shared = new Map()
    const made = make()
    shared.set(key, made)
    return made
  }
}
