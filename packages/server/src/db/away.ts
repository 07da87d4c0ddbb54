import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../kernel/app-error.ts'
import { second } from '../kernel/time.ts'

/** An error that comes again however often the step is tried; its message may quote any other. */
export class PermanentError extends Error {}

/**
 * Whether the connection or the server was away, or too slow: SQLSTATE classes 08, 53, 57, a lock that did not come
 * (55P03), errors of sockets, and what we say of them ourselves.
 */
export function isAway(e: unknown): boolean {
  if (e instanceof AppError) return e.code === 'internal_error' && e.retryAfterSeconds !== undefined
  const { code, syscall } = e as { code?: unknown; syscall?: unknown }
  if (e instanceof PermanentError) return false
  const message = e instanceof Error ? e.message : ''
  if (neverMends.test(message)) return false
  // Its SQLSTATE says it; the message of another error may have the name of a table with such a word in it.
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]/.test(code))
    return /^(08|53|55P03|57)/.test(code)
  // A socket that is not there yet, not a file that is missing.
  if (code === 'ENOENT') return syscall === 'connect'
  if (typeof code === 'string' && /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN)/.test(code)) return true
  return /timeout|terminated|not queryable|not answer|Connection/i.test(message)
}

/** Of servers that are set up in another way, however often they are asked. */
const neverMends = /does not support SSL|unsupported startup parameter/

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
