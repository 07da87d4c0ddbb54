import { BoundedMap } from './bounded-map.ts'

/**
 * The generic cell rate algorithm: `perMinute` on average, a tenth of it (at least 10) at once. Counts per replica. Both
 * questions answer 0 when the request may pass, else the seconds after which it may.
 */
export function createRateLimiter(max = 50_000) {
  const arrivals = new BoundedMap<string, number>(max)

  function ask(key: string, perMinute: number, nowMs: number, isTaken: boolean): number {
    const interval = 60_000 / perMinute
    const burst = Math.max(10, perMinute / 10) * interval
    const arrival = Math.max(arrivals.get(key) ?? 0, nowMs)
    if (arrival - nowMs > burst - interval) return Math.ceil((arrival - nowMs - burst + interval) / 1000) || 1
    if (isTaken) arrivals.set(key, arrival + interval)
    return 0
  }
  return {
    take: (key: string, perMinute: number, nowMs: number): number => ask(key, perMinute, nowMs, true),
    /** Counts nothing: for what is to be refused before it costs anything. */
    peek: (key: string, perMinute: number, nowMs: number): number => ask(key, perMinute, nowMs, false),
  }
}
