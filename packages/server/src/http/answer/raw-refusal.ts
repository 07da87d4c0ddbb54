import type { ServerResponse } from 'node:http'
import { deviceStatusHeader } from '@holdfast/contract/vocabulary'
import type { Log } from '../../kernel/log.ts'
import { challenge, rateLimitLines, toAppError } from './error-response.ts'
import { refusalOf } from './protocol.ts'

/**
 * Sends a refusal before the router, with the same status, headers and body as after it. `fixed` are the headers of
 * every response.
 */
export function sendRefusal(
  response: ServerResponse,
  id: string,
  thrown: unknown,
  { log, fixed }: { log: Pick<Log, 'error'>; fixed: readonly string[] },
): void {
  const e = toAppError(thrown)
  if (e.code === 'internal_error') log.error({ err: e.cause ?? e, request_id: id }, e.message)
  const { status, contentType, body } = refusalOf(response.req.url ?? '', e, id)
  const bytes = Buffer.from(JSON.stringify(body))
  const lines = [...fixed, 'x-request-id', id, 'content-type', contentType, ...rateLimitLines(e.rateLimit)]
  if (e.retryAfterSeconds !== undefined) lines.push('retry-after', String(e.retryAfterSeconds))
  if (e.code === 'unauthorized') lines.push('www-authenticate', challenge)
  if (e.deviceStatus !== undefined) lines.push(deviceStatusHeader, e.deviceStatus)
  response.writeHead(status, [...lines, 'content-length', String(bytes.length)]).end(bytes)
}
