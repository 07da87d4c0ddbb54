export type Random = {
  /** 0 ≤ x < 1 */
  next: () => number
  /** A whole number from `min` to `max`, both included. */
  between: (min: number, max: number) => number
  chance: (probability: number) => boolean
  pick: <T>(list: readonly T[]) => T
  /** Up to `count` different items, in the order of the list. */
  some: <T>(list: readonly T[], count: number) => T[]
}

/** The same seed gives the same sequence on every machine (mulberry32, 32 bits of state). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (list) => {
      const item = list[between(0, list.length - 1)]
      if (item === undefined) throw new RangeError('there is nothing to pick from')
      return item
    },
    some: (list, count) => {
      let missing = Math.min(count, list.length)
      let left = list.length
      return list.filter(() => {
        const taken = next() * left-- < missing
        if (taken) missing--
        return taken
      })
    },
  }
}
