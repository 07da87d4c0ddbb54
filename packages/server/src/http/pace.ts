import type { IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '../kernel/app-error.ts'
import { second } from '../kernel/time.ts'
import { exempt } from './patience.ts'

/** How slow who sends or takes many bytes may be: so many a second on the average, after a while of grace. */
export type Pace = { graceMs: number; bytesPerSecond: number }
export const usualPace: Pace = { graceMs: 30 * second, bytesPerSecond: 2048 }
const lookMs = 5 * second

/** Calls once when what has moved falls behind; ends with what is returned. */
function watch({ graceMs, bytesPerSecond }: Pace, moved: () => number, tooSlow: () => void): () => void {
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

/** The body of a request as it comes. 400 where its sender is too slow, or goes; the rest of it is then not read. */
export async function* paced(request: IncomingMessage, pace: Pace): AsyncGenerator<Buffer, void, undefined> {
  exempt(request)
  let received = 0
  const slow = Promise.withResolvers<never>()
  slow.promise.catch(() => {})
  const tooSlow = () => slow.reject(new AppError('bad_request', 'the body comes too slowly'))
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
    throw cause instanceof AppError ? cause : new AppError('bad_request', 'the body broke off', { cause })
  } finally {
    end()
  }
}

/** Cuts an answer whose taker is too slow. */
export function cutWhenSlow(response: ServerResponse, pace: Pace): void {
  const { socket } = response
  const before = socket?.bytesWritten ?? 0
  const end = watch(
    pace,
    () => (socket?.bytesWritten ?? 0) - before,
    () => response.destroy(),
  )
  response.once('close', end)
}
