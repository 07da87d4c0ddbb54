import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from './errors.ts'

export type Random = () => number

/** Returns `value` ± 20 %, so that devices that started together spread out. */
export const jitter = (value: number, random: Random): number => value * (0.8 + 0.4 * random())

const firstSeconds = 1

/**
 * Returns the seconds to wait after the n-th failure in a row (n from 1): exponential up to `longest` seconds, the
 * upper half of it random. Never less than the server's Retry-After.
 */
export function backoffSeconds(failures: number, error: unknown, random: Random, longest = 300): number {
  const ceiling = Math.min(longest, firstSeconds * 2 ** Math.min(failures, 20))
  const own = ceiling * (0.5 + 0.5 * random())
  const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0
  return asked > own ? asked * (1 + 0.2 * random()) : own
}

/** Rejects with the signal's reason if it aborts meanwhile. */
export async function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  try {
    await delay(Math.max(0, seconds) * 1000, undefined, signal ? { signal } : {})
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}
