import type { ServerResponse } from 'node:http'
import { deviceStatusHeader, errorStatus } from '@holdfast/contract/vocabulary'
import type { Log } from '../kernel/log.ts'
import { challenge, errorBody, securityHeaders, toAppError } from './error-response.ts'

const fixed = Object.entries(securityHeaders).flat()

/** A refusal in front of the router: the same status, headers and body as behind it. */
export function sendRefusal(response: ServerResponse, id: string, thrown: unknown, log: Pick<Log, 'error'>): void {
  const e = toAppError(thrown)
  if (e.code === 'internal_error') log.error({ err: e.cause ?? e, request_id: id }, e.message)
  const bytes = Buffer.from(JSON.stringify(errorBody(e.code, e.message, id, e.errors)))
  const lines = [...fixed, 'x-request-id', id, 'content-type', 'application/json; charset=utf-8']
  if (e.retryAfterSeconds !== undefined) lines.push('retry-after', String(e.retryAfterSeconds))
  if (e.code === 'unauthorized') lines.push('www-authenticate', challenge)
  if (e.deviceStatus !== undefined) lines.push(deviceStatusHeader, e.deviceStatus)
  response.writeHead(errorStatus[e.code], [...lines, 'content-length', String(bytes.length)]).end(bytes)
}
