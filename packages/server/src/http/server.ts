import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Draining } from './connection/draining.ts'
import { createHttpServer } from './connection/node-http.ts'
import { createPatience } from './connection/patience.ts'
import { refuseUnusual, withHost } from './connection/unreadable.ts'

export type ServerDeps = {
  /** Functions that answer requests before the router. They return false for other requests. */
  inFront: readonly ((request: IncomingMessage, response: ServerResponse) => boolean)[]
  draining: Draining
  /** Wraps the listener of all requests, if metrics are configured. */
  counting: ((answer: RequestListener) => RequestListener) | undefined
  https?: { cert: Buffer; key: Buffer }
  maxConnections: number
}

/** A client with a slow request blocks a connection. Checked every two seconds. */
const waiting = {
  headersTimeout: 8000,
  // `patience.ts` limits the time of bodies.
  requestTimeout: 0,
  connectionsCheckingInterval: 2000,
  keepAliveTimeout: 72_000,
}
const reading = {
  // Two Authorization headers are refused; without this setting the first one would be used.
  joinDuplicateHeaders: true,
  // `withHost` checks this.
  requireHostHeader: false,
}

/** Creates Node's server, with the handlers before the router and a limit on every wait. */
export function createServer(
  { https, inFront, maxConnections, draining, counting }: ServerDeps,
  router: RequestListener,
): Server {
  const answer: RequestListener = (request, response) => {
    for (const answers of inFront) if (answers(request, response)) return
    router(request, response)
  }
  const bodyTimeouts = createPatience()
  const listener = withHost(draining.around(bodyTimeouts.around(counting?.(answer) ?? answer)))
  const options = { ...https, ...waiting, ...reading }
  const server = https ? createHttpsServer(options, listener) : createHttpServer(options, listener)
  server.maxConnections = maxConnections
  bodyTimeouts.attend(server)
  refuseUnusual(server)
  return server
}
