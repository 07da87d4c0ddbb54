import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { Draining } from './draining.ts'
import { createHttpServer } from './node-http.ts'
import { createPatience } from './patience.ts'
import { refuseUnusual, withHost } from './unreadable.ts'

export type ServerDeps = {
  /** Each answers a request in front of the router; false when it is not one of its own. */
  inFront: readonly ((request: IncomingMessage, response: ServerResponse) => boolean)[]
  draining: Draining
  /** Around all that answers, where requests are counted. */
  counting: ((answer: RequestListener) => RequestListener) | undefined
  https?: { cert: Buffer; key: Buffer }
  maxConnections: number
}

/** A client that takes longer to say what it wants holds a connection for nothing. Looked after every two seconds. */
const waiting = {
  headersTimeout: 8000,
  // Bodies are waited for by `patience.ts`.
  requestTimeout: 0,
  connectionsCheckingInterval: 2000,
  keepAliveTimeout: 72_000,
}
const reading = {
  // Two Authorization headers are no credential, instead of the first one.
  joinDuplicateHeaders: true,
  // Asked for by `withHost`.
  requireHostHeader: false,
}

/** Node's server, with what is answered in front of the router and a bound on every kind of waiting. */
export function createServer(
  { https, inFront, maxConnections, draining, counting }: ServerDeps,
  router: RequestListener,
): Server {
  const answer: RequestListener = (request, response) => {
    for (const answers of inFront) if (answers(request, response)) return
    router(request, response)
  }
  const patience = createPatience()
  const listener = withHost(draining.around(patience.around(counting?.(answer) ?? answer)))
  const options = { ...https, ...waiting, ...reading }
  const server = https ? createHttpsServer(options, listener) : createHttpServer(options, listener)
  server.maxConnections = maxConnections
  patience.attend(server)
  refuseUnusual(server)
  return server
}
