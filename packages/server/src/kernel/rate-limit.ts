import { BoundedMap } from './bounded-map.ts'

/**
 * The generic cell rate algorithm: `perMinute` on average, a tenth of it (at least 10) at once. Counts per replica.
 * Returns 0 when the request may pass, else the seconds after which it may.
 */
export function createRateLimiter(max = 50_000) {
  const arrivals = new BoundedMap<string, number>(max)
  return (key: string, perMinute: number, nowMs: number): number => {
    const interval = 60_000 / perMinute
    const burst = Math.max(10, perMinute / 10) * interval
    const arrival = Math.max(arrivals.get(key) ?? 0, nowMs)
    if (arrival - nowMs > burst - interval) return Math.ceil((arrival - nowMs - burst + interval) / 1000) || 1
    arrivals.set(key, arrival + interval)
    return 0
  }
}
