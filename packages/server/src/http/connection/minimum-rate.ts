import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '../../kernel/app-error.ts'
import { second } from '../../kernel/time.ts'
import { exempt } from './body-timeout.ts'

/** Minimum average transfer rate of large bodies in bytes per second, after a grace period. */
export type MinimumRate = { graceMs: number; bytesPerSecond: number }
export const defaultMinimumRate: MinimumRate = { graceMs: 30 * second, bytesPerSecond: 2048 }
const lookMs = 5 * second

/** Calls `tooSlow` once when the transfer falls behind, until the returned function is called. */
function watch({ graceMs, bytesPerSecond }: MinimumRate, moved: () => number, tooSlow: () => void): () => void {
  const started = performance.now()
  const look = () => {
    const dueMs = performance.now() - started - graceMs
    if (dueMs <= 0 || moved() >= (dueMs / second) * bytesPerSecond) return
    clearInterval(timer)
    tooSlow()
  }
  const timer = setInterval(look, Math.min(lookMs, graceMs))
  timer.unref()
  return () => clearInterval(timer)
}

/** Streams the body of a request. Throws 400 if its client is too slow or disconnects; the rest is not read. */
export async function* withMinimumRate(
  request: IncomingMessage,
  pace: MinimumRate,
): AsyncGenerator<Buffer, void, undefined> {
  exempt(request)
  let received = 0
  const slow = Promise.withResolvers<never>()
  slow.promise.catch(() => {})
  const tooSlow = () =>
    slow.reject(new AppError('bad_request', 'the body arrives too slowly: try again on a faster connection'))
  const end = watch(pace, () => received, tooSlow)
  const chunks: AsyncIterator<Buffer> = request.iterator({ destroyOnReturn: false })
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), slow.promise])
      if (next.done) return
      received += next.value.length
      yield next.value
    }
  } catch (cause) {
    throw cause instanceof AppError
      ? cause
      : new AppError('bad_request', 'the body is incomplete: the connection was closed before its end', { cause })
  } finally {
    end()
  }
}

/** Cuts a response whose client reads too slowly. */
export function cutWhenSlow(response: ServerResponse, pace: MinimumRate): void {
  const { socket } = response
  const before = socket?.bytesWritten ?? 0
  const end = watch(
    pace,
    () => (socket?.bytesWritten ?? 0) - before,
    () => response.destroy(),
  )
  response.once('close', end)
}
