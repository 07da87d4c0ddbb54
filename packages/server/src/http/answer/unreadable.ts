import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { AppError } from '../../kernel/app-error.ts'
import { newRequestId } from '../../kernel/ids.ts'
import { refusalOf } from './protocol.ts'
import { securityHeaders } from './security-headers.ts'

const details: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'the request line and headers are larger than 16 KiB',
  HPE_INVALID_METHOD: 'the HTTP method is unknown',
  ERR_HTTP_REQUEST_TIMEOUT: 'the request did not arrive completely in time',
}
const unreadable = 'the request is not valid HTTP'

/**
 * Answers a request that the HTTP parser refuses, in the protocol of its path if that was received, and closes the
 * connection.
 */
export function refuseUnparsed(e: { code?: string; rawPacket?: Buffer }, socket: Duplex): void {
  if (!socket.writable || e.code === 'ECONNRESET') return void socket.destroy()
  const [, url = ''] = /^[A-Z]+ (\/\S{0,99})/.exec(e.rawPacket?.toString('latin1', 0, 120) ?? '') ?? []
  const { lines, bytes } = refusal(url, details[e.code ?? ''] ?? unreadable)
  const head = ['HTTP/1.1 400 Bad Request', ...lines.map(([name, value]) => `${name}: ${value}`)]
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]))
}

/** Answers a request whose body did not arrive in time, and closes the connection. */
export const refuseLate = (socket: Duplex): void => refuseUnparsed({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket)

/** The same for requests that Node's server would answer itself without a body. */
export function refuseUnusual(server: Server): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    answer(request, response, 'the header Expect must be 100-continue'),
  )
  server.on('connect', (_: IncomingMessage, socket: Duplex) => refuseUnparsed({ code: 'HPE_INVALID_METHOD' }, socket))
}

/** HTTP/1.1 requires one Host (RFC 9112 §3.2). Node checks it too, but answers without a body. */
export const withHost =
  (next: RequestListener): RequestListener =>
  (request, response) => {
    if (request.headers.host === undefined && request.httpVersion === '1.1')
      answer(request, response, 'the header Host is missing')
    else next(request, response)
  }

function answer({ url = '' }: IncomingMessage, response: ServerResponse, detail: string): void {
  const { lines, bytes } = refusal(url, detail)
  response.writeHead(400, lines.flat()).end(bytes)
}

function refusal(url: string, detail: string): { lines: [string, string][]; bytes: Buffer } {
  const id = newRequestId()
  const { contentType, body } = refusalOf(url, new AppError('bad_request', detail), id)
  const bytes = Buffer.from(JSON.stringify(body))
  const lines: [string, string][] = [
    ...Object.entries(securityHeaders),
    ['x-request-id', id],
    ['content-type', contentType],
    ['content-length', String(bytes.length)],
    ['connection', 'close'],
  ]
  return { lines, bytes }
}
