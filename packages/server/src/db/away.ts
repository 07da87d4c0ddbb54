import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../kernel/app-error.ts'
import { second } from '../kernel/time.ts'

/**
 * Whether the connection or the server was away, or too slow: SQLSTATE classes 08, 53, 57, a lock that did not come
 * (55P03), errors of sockets, and what we say of them ourselves.
 */
export function isAway(e: unknown): boolean {
  if (e instanceof AppError) return e.code === 'internal_error' && e.retryAfterSeconds !== undefined
  const { code } = e as { code?: unknown }
  if (typeof code === 'string' && /^(08|53|55P03|57|ECONN|ENOENT|EPIPE|ETIMEDOUT)/.test(code)) return true
  return e instanceof Error && /timeout|terminated|not queryable|not answer|Connection/i.test(e.message)
}

const patienceMs = 30 * second

/** Makes a step again, half a minute long, while the database is away or stalls. Steps of a start can be made again. */
export async function patiently(step: () => Promise<void>, told: (e: unknown) => void): Promise<void> {
  for (const until = performance.now() + patienceMs; ; await delay(second / 2))
    try {
      return await step()
    } catch (e) {
      if (!isAway(e) || performance.now() > until) throw e
      told(e)
    }
}
