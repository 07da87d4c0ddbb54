import { BoundedMap } from './bounded-map.ts'

/**
 * The generic cell rate algorithm: `perMinute` on average, a tenth of it (at least 10) at once. All that is remembered
 * of who asks is the moment up to which it has used what it may. 0 when so many may pass together, else the seconds
 * after which they may.
 */
export function secondsToWait(usedUntil: number, perMinute: number, nowMs: number, count = 1): number {
  const interval = 60_000 / perMinute
  const burst = Math.max(10, perMinute / 10) * interval
  const ahead = Math.max(usedUntil, nowMs) - nowMs
  return ahead > burst - count * interval ? Math.ceil((ahead - burst + count * interval) / 1000) || 1 : 0
}
/** That moment after so many more. */
export const usedByMore = (usedUntil: number, perMinute: number, nowMs: number, count = 1): number =>
  Math.max(usedUntil, nowMs) + (count * 60_000) / perMinute

/** Remembers that by keys, per replica; the newest `max` of them. */
export function createRateLimiter(max = 50_000) {
  const usedUntil = new BoundedMap<string, number>(max)
  return {
    /** What `take` would say, without taking it. */
    peek: (key: string, perMinute: number, nowMs: number): number =>
      secondsToWait(usedUntil.get(key) ?? 0, perMinute, nowMs),
    take: (key: string, perMinute: number, nowMs: number, count = 1): number => {
      const before = usedUntil.get(key) ?? 0
      const wait = secondsToWait(before, perMinute, nowMs, count)
      if (wait === 0) usedUntil.set(key, usedByMore(before, perMinute, nowMs, count))
      return wait
    },
  }
}
