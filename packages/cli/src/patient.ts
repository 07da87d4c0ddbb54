import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, type Client } from '@holdfast/sdk'

/** Retries after 429, as the server asks, up to a total wait of `atMost` seconds. */
export async function patiently<T>(ask: () => Promise<T>, atMost = Number.POSITIVE_INFINITY): Promise<T> {
  for (let waited = 0; ; )
    try {
      return await ask()
    } catch (e) {
      if (!(e instanceof ApiError) || e.code !== 'rate_limited') throw e
      const seconds = e.retryAfterSeconds ?? 1
      waited += seconds
      if (waited > atMost) throw e
      await delay(1000 * seconds)
    }
}

/** Returns a client that retries after 429. */
export function patient(client: Client): Client {
  type Call = (...given: unknown[]) => Promise<unknown>
  const calls = Object.entries(client) as [string, Call][]
  const waiting = calls.map(([name, call]) => [name, (...given: unknown[]) => patiently(() => call(...given))])
  return Object.fromEntries(waiting) as Client
}
