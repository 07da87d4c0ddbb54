import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../kernel/app-error.ts'
import { second } from '../kernel/time.ts'

/** An error that retries can't solve. Its message may quote any other error. */
export class PermanentError extends Error {}

/**
 * True if the connection or the server was unavailable or too slow: SQLSTATE classes 08, 53, 57, a lock timeout
 * (55P03), socket errors, and errors of our own for these cases.
 */
export function isAway(e: unknown): boolean {
  if (e instanceof AppError) return e.code === 'internal_error' && e.retryAfterSeconds !== undefined
  const { code, syscall } = e as { code?: unknown; syscall?: unknown }
  if (e instanceof PermanentError) return false
  const message = e instanceof Error ? e.message : ''
  if (neverMends.test(message)) return false
  // The SQLSTATE decides. The message of another error may contain one of these words as the name of a table.
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]/.test(code))
    return /^(08|53|55P03|57)/.test(code)
  // A missing socket, not a missing file.
  if (code === 'ENOENT') return syscall === 'connect'
  if (typeof code === 'string' && /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN)/.test(code)) return true
  return /timeout|terminated|not queryable|not answer|Connection/i.test(message)
}

/** Errors of servers with other settings, which no retry solves. */
const neverMends = /does not support SSL|unsupported startup parameter/

const patienceMs = 30 * second

/** Retries a step for half a minute while the database is unavailable or stalls. Steps of a start are repeatable. */
export async function retryWhileUnavailable(step: () => Promise<void>, onRetry: (e: unknown) => void): Promise<void> {
  for (const until = performance.now() + patienceMs; ; await delay(second / 2))
    try {
      return await step()
    } catch (e) {
      if (!isAway(e) || performance.now() > until) throw e
      onRetry(e)
    }
}
