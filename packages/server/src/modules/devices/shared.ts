/** Maximum number of distinct values shared at once. Beyond it, sharing starts over. */
const most = 20_000

export function createShared<V>() {
  let held = new Map<string, V>()
  return (key: string, make: () => V): V => {
    const known = held.get(key)
    if (known !== undefined) return known
    if (held.size >= most) held = new Map()
    const made = make()
    held.set(key, made)
    return made
  }
}
