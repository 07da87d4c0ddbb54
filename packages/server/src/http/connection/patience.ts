import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { second } from '../../kernel/time.ts'
import { hasBody } from '../body/read-body.ts'
import { refuseUnparsed } from './unreadable.ts'

/** Time limit for receiving a body, and interval of the check, in ms. */
const usual = { patienceMs: 20 * second, lookMs: 2 * second }

/** Streamed bodies, which have a minimum rate instead (`pace.ts`). */
const streamed = new WeakSet<IncomingMessage>()
export const exempt = (request: IncomingMessage): void => void streamed.add(request)
export const isStreamed = (request: IncomingMessage): boolean => streamed.has(request)

/**
 * Limits the time for receiving a body, since a slow client blocks a connection. Node's `requestTimeout` does the same
 * but allows no exceptions.
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
