import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { second } from '../kernel/time.ts'
import { hasBody } from './read-body.ts'
import { refuseUnparsed } from './unreadable.ts'

/** Within this time a body has to be there; looked after now and then. */
const usual = { patienceMs: 20 * second, lookMs: 2 * second }

/** Bodies that are handed on as they come: they keep a pace instead (`pace.ts`). */
const streamed = new WeakSet<IncomingMessage>()
export const exempt = (request: IncomingMessage): void => void streamed.add(request)
export const isStreamed = (request: IncomingMessage): boolean => streamed.has(request)

/**
 * Bounds how long a body may take to arrive, as Node's `requestTimeout` does, which knows no exception: who is slower
 * holds a connection for nothing.
 */
export function createPatience({ patienceMs, lookMs } = usual) {
  const arriving = new Map<IncomingMessage, number>()
  function look(): void {
    const now = performance.now()
    for (const [request, since] of arriving) {
      if (request.complete || request.socket.destroyed || streamed.has(request)) arriving.delete(request)
      else if (now - since > patienceMs) {
        arriving.delete(request)
        refuseUnparsed({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, request.socket)
      }
    }
  }
  return {
    /** Around all that answers. */
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
