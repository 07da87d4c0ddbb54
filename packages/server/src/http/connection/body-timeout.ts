import type { IncomingHttpHeaders, IncomingMessage, RequestListener, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { second } from '../../kernel/time.ts'

/** True if a request announces a body of any type. */
export const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/** Time limit for receiving a body, and interval of the check, in ms. */
const usual = { timeoutMs: 20 * second, lookMs: 2 * second }

/** Streamed bodies, which have a minimum rate instead (`minimum-rate.ts`). */
const streamed = new WeakSet<IncomingMessage>()
export const exempt = (request: IncomingMessage): void => void streamed.add(request)
export const isStreamed = (request: IncomingMessage): boolean => streamed.has(request)

/**
 * Limits the time for receiving a body, since a slow client blocks a connection. Node's `requestTimeout` does the same
 * but allows no exceptions.
 *
 * @param refuse answers a request whose body is late, and ends its connection
 */
export function createBodyTimeout(refuse: (socket: Duplex) => void, { timeoutMs, lookMs } = usual) {
  const arriving = new Map<IncomingMessage, number>()
  function look(): void {
    const now = performance.now()
    for (const [request, since] of arriving) {
      if (request.complete || request.socket.destroyed || streamed.has(request)) arriving.delete(request)
      else if (now - since > timeoutMs) {
        arriving.delete(request)
        refuse(request.socket)
      }
    }
  }
  return {
    /** Wraps the listener of all requests. */
    around:
      (answer: RequestListener): RequestListener =>
      (request, response) => {
        if (hasBody(request.headers)) arriving.set(request, performance.now())
        answer(request, response)
      },
    attend: (server: Server): void => {
      const timer = setInterval(look, lookMs)
      timer.unref()
      server.once('close', () => clearInterval(timer))
    },
  }
}
