import { BoundedMap } from './bounded-map.ts'

/**
 * Generic cell rate algorithm: `perMinute` on average, a tenth of it (at least 10) at once. Its only state is the time
 * up to which the allowance is used. Returns 0 if `count` may pass now, else the seconds to wait.
 */
export function secondsToWait(usedUntil: number, perMinute: number, nowMs: number, count = 1): number {
  const interval = 60_000 / perMinute
  const burst = Math.max(10, perMinute / 10) * interval
  const ahead = Math.max(usedUntil, nowMs) - nowMs
  return ahead > burst - count * interval ? Math.ceil((ahead - burst + count * interval) / 1000) || 1 : 0
}
/** Returns the state after `count` more. */
export const usedByMore = (usedUntil: number, perMinute: number, nowMs: number, count = 1): number =>
  Math.max(usedUntil, nowMs) + (count * 60_000) / perMinute

/** Values of the headers RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers). */
export type RateLimit = { readonly policy: string; readonly state: string }

/** Number of texts kept per limit. Most callers have used so little that their text is among them. */
const keptTexts = 16
const textsOf = new BoundedMap<string, { full: number; interval: number; policy: string; kept: RateLimit[] }>(1000)

/** Describes the remaining limit: `q` requests may pass at once, and again `q` after `w` seconds; `r` are left. */
export function rateLimitOf(name: string, usedUntil: number, perMinute: number, nowMs: number): RateLimit {
  const key = `${name} ${perMinute}`
  let texts = textsOf.get(key)
  if (!texts) {
    const interval = 60_000 / perMinute
    const full = Math.floor(Math.max(10, perMinute / 10))
    const policy = `"${name}";q=${full};w=${Math.ceil((full * interval) / 1000)}`
    texts = { full, interval, policy, kept: [] }
    textsOf.set(key, texts)
  }
  const { full, interval, policy, kept } = texts
  const ahead = Math.max(usedUntil, nowMs) - nowMs
  const used = Math.min(full, Math.ceil(ahead / interval - 1e-9))
  const known = kept[used]
  if (known) return known
  const limit = { policy, state: `"${name}";r=${full - used};t=${Math.ceil((used * interval) / 1000)}` }
  if (used < keptTexts) kept[used] = limit
  return limit
}

/** Creates a rate limiter with a state per key, in this replica only. It keeps the newest `max` keys. */
export function createRateLimiter(max = 50_000) {
  const usedUntil = new BoundedMap<string, number>(max)
  return {
    /** Returns the result of `take` without taking anything. */
    peek: (key: string, perMinute: number, nowMs: number): number =>
      secondsToWait(usedUntil.get(key) ?? 0, perMinute, nowMs),
    limitOf: (name: string, key: string, perMinute: number, nowMs: number): RateLimit =>
      rateLimitOf(name, usedUntil.get(key) ?? 0, perMinute, nowMs),
    take: (key: string, perMinute: number, nowMs: number, count = 1): number => {
      const before = usedUntil.get(key) ?? 0
      const wait = secondsToWait(before, perMinute, nowMs, count)
      if (wait === 0) usedUntil.set(key, usedByMore(before, perMinute, nowMs, count))
      return wait
    },
  }
}
