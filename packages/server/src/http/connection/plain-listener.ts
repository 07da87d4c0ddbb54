import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { sourceBlock } from '../../kernel/cidr.ts'
import type { Log } from '../../kernel/log.ts'
import { createRateLimiter } from '../../kernel/rate-limit.ts'
import { second } from '../../kernel/time.ts'
import type { Draining } from './draining.ts'
import { createHttpServer } from './node-http.ts'
import type { SourceOf } from './source-ip.ts'

/** A request to a listener beside the API. */
export type PlainRequest = {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** Client address block by which requests are counted. */
  from: string
  /** Undefined if the body is too long. */
  body: () => Promise<Buffer | undefined>
}
export type Answered = { status: number; headers?: Readonly<Record<string, string>>; body?: Buffer }

const timeouts = {
  headersTimeout: 5 * second,
  requestTimeout: 10 * second,
  connectionsCheckingInterval: 2 * second,
  keepAliveTimeout: 15 * second,
}
/** Time limit in ms for reading a response. */
const readWithin = 60 * second
const longestHead = 8 * 1024
const longestBody = 4 * 1024
/** Limit of pipelined requests on one connection. */
const mostUnanswered = 8
/**
 * Limit of requests from one address (IPv6: /64). A gateway that asks about every device at once after a restart stays
 * below it.
 */
const perMinute = 6000

/** Responses are neither pages nor of any other type than stated. */
const fixed = { 'x-content-type-options': 'nosniff', 'content-security-policy': "default-src 'none'" }

/**
 * Plain HTTP on a separate port: the data that RFC 5280 and RFC 6960 name by URL for anybody, and metrics for
 * operators. All waits and lengths are limited.
 */
export function createPlainListener({
  answer,
  draining,
  sourceOf,
  maxConnections,
  log,
}: {
  answer: (plainRequest: PlainRequest) => Promise<Answered>
  draining: Draining
  sourceOf: SourceOf
  maxConnections: number
  log: Pick<Log, 'error'>
}) {
  const rates = createRateLimiter()
  const unanswered = new WeakMap<Socket, number>()

  async function answerOf(request: IncomingMessage): Promise<Answered> {
    const { method = '', url: path = '', headers } = request
    const from = sourceBlock(sourceOf(request))
    const wait = rates.take(from, perMinute, performance.now())
    if (wait > 0) return { status: 429, headers: { 'retry-after': String(wait) } }
    return answer({ method, path, headers, from, body: () => read(request) })
  }
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      send(response, await answerOf(request))
    } catch (e) {
      if (request.destroyed && !request.complete) return
      log.error({ err: e }, 'request to the metrics or PKI listener failed')
      send(response, { status: 503, headers: { 'retry-after': '2' } })
    }
  }
  function isTooMuch(socket: Socket, response: ServerResponse): boolean {
    const count = (unanswered.get(socket) ?? 0) + 1
    unanswered.set(socket, count)
    response.once('close', () => unanswered.set(socket, unanswered.get(socket)! - 1))
    return count > mostUnanswered
  }

  const server = createHttpServer(
    { ...timeouts, maxHeaderSize: longestHead },
    draining.around((request, response) => {
      if (isTooMuch(request.socket, response)) return void request.socket.destroy()
      void serve(request, response)
    }),
  )
  server.maxConnections = maxConnections
  const close = promisify(server.close.bind(server))
  return {
    server,
    listen: (port: number, host: string): Promise<void> => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      server.once('error', reject)
      server.listen({ port, host, backlog: 4096 }, () => {
        server.off('error', reject)
        resolve()
      })
      return promise
    },
    close: async (): Promise<void> => {
      if (server.listening) await close()
    },
  }
}

function send(response: ServerResponse, { status, headers = {}, body }: Answered): void {
  const { req: request } = response
  // The rest of an unread body is not awaited.
  if (!request.complete && hasBody(request)) response.shouldKeepAlive = false
  const length = status === 304 ? {} : { 'content-length': String(body?.length ?? 0) }
  const socket = response.socket
  const readTimer = setTimeout(() => socket?.destroy(), readWithin).unref()
  response.once('close', () => clearTimeout(readTimer))
  response.writeHead(status, { ...fixed, ...headers, ...length }).end(body)
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Rejects if the client disconnects before the end of the body. */
async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > longestBody) return undefined
  const pieces: Buffer[] = []
  let length = 0
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>()
  request.on('data', (piece: Buffer) => {
    length += piece.length
    if (length <= longestBody) return void pieces.push(piece)
    request.pause()
    resolve(undefined)
  })
  request.on('end', () => resolve(Buffer.concat(pieces)))
  request.on('error', reject)
  request.on('close', () => reject(new Error('the client closed the connection before the end of the request')))
  return promise
}
