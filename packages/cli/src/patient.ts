import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, type Client } from '@holdfast/sdk'

/** Where it is asked to wait (429), it does, for as many seconds in all. */
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

/** The same client for whoever asks so often that it is told to wait. */
export function patient(client: Client): Client {
  type Call = (...given: unknown[]) => Promise<unknown>
  const calls = Object.entries(client) as [string, Call][]
  const waiting = calls.map(([name, call]) => [name, (...given: unknown[]) => patiently(() => call(...given))])
  return Object.fromEntries(waiting) as Client
}
