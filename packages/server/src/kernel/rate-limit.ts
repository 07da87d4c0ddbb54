import { BoundedMap } from './bounded-map.ts'

/**
 * The generic cell rate algorithm: `perMinute` on average, a tenth of it (at least 10) at once. All that is remembered
 * of who asks is the moment up to which it has used what it may. 0 when a request may pass, else the seconds after
 * which it may.
 */
export function secondsToWait(usedUntil: number, perMinute: number, nowMs: number): number {
  const interval = 60_000 / perMinute
  const burst = Math.max(10, perMinute / 10) * interval
  const ahead = Math.max(usedUntil, nowMs) - nowMs
  return ahead > burst - interval ? Math.ceil((ahead - burst + interval) / 1000) || 1 : 0
}
/** That moment after one more request. */
export const usedByOneMore = (usedUntil: number, perMinute: number, nowMs: number): number =>
  Math.max(usedUntil, nowMs) + 60_000 / perMinute

/** Remembers that by keys, per replica; the newest `max` of them. */
export function createRateLimiter(max = 50_000) {
  const usedUntil = new BoundedMap<string, number>(max)
  return {
    /** What `take` would say, without taking it. */
    peek: (key: string, perMinute: number, nowMs: number): number =>
      secondsToWait(usedUntil.get(key) ?? 0, perMinute, nowMs),
    take: (key: string, perMinute: number, nowMs: number): number => {
      const before = usedUntil.get(key) ?? 0
      const wait = secondsToWait(before, perMinute, nowMs)
      if (wait === 0) usedUntil.set(key, usedByOneMore(before, perMinute, nowMs))
      return wait
    },
  }
}
