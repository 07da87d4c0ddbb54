import type { IncomingMessage } from 'node:http'
import { deviceStatusHeader, errorStatus } from '@holdfast/contract/vocabulary'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isAway } from '../../db/unavailable.ts'
import { AppError } from '../../kernel/app-error.ts'
import type { Log } from '../../kernel/log.ts'
import type { RateLimit } from '../../kernel/rate-limit.ts'
import { second } from '../../kernel/time.ts'
import { isStreamed } from '../connection/body-timeout.ts'
import { refusalOf } from './protocol.ts'

/** Returns the rate limit as header fields (draft-ietf-httpapi-ratelimit-headers). */
export const rateLimitLines = (limit: RateLimit | undefined): string[] =>
  limit ? ['ratelimit-policy', limit.policy, 'ratelimit', limit.state] : []
export function tellRateLimit(reply: FastifyReply, limit: RateLimit | undefined): void {
  if (limit) reply.header('ratelimit-policy', limit.policy).header('ratelimit', limit.state)
}

const lingerMs = 5 * second

/** Value of WWW-Authenticate (RFC 9110 §11.6.1, RFC 9449 §7.1). */
export const challenge = 'DPoP algs="ES256 Ed25519", Bearer'

/** Converts any error to the form of the specification. Unknown errors reveal no internals. */
export function toAppError(e: unknown): AppError {
  if (e instanceof AppError) return e
  const { code, statusCode } = e as { code?: unknown; statusCode?: unknown }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new AppError('bad_request', 'the body is larger than this route accepts')
  if (typeof code === 'string' && code.startsWith('FST_ERR_CTP_'))
    return new AppError('bad_request', 'send the body as application/json')
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500)
    return new AppError('bad_request', 'the request is not valid HTTP', { cause: e })
  return new AppError('internal_error', 'unexpected server error', {
    cause: e,
    ...(isAway(e) && { retryAfterSeconds: 2 }),
  })
}

/** True if a request is refused before its body is read. The rest is not read, so the connection can't be reused. */
const isBodyAwaited = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/**
 * Drops the rest of a refused upload for a while. A client that still sends would otherwise see a broken connection
 * before it reads the response.
 */
function leaveBody({ raw, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  if (!routeOptions.config.upload || isStreamed(raw)) return void reply.header('connection', 'close')
  reply.raw.once('finish', () => {
    const timer = setTimeout(() => raw.socket.destroy(), lingerMs).unref()
    raw.once('close', () => clearTimeout(timer))
  })
}

/** Removes the file name from a response that is no file. It is already set if the first bytes of a stream failed. */
function leaveName(reply: FastifyReply): void {
  reply.removeHeader('content-disposition')
  if (!reply.raw.headersSent) reply.raw.removeHeader('content-disposition')
}

export function sendError(
  log: Pick<Log, 'error'>,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const e = toAppError(error)
  if (e.code === 'internal_error') log.error({ err: e.cause ?? e, request_id: request.id }, e.message)
  if (e.retryAfterSeconds !== undefined) reply.header('retry-after', String(e.retryAfterSeconds))
  if (e.deviceStatus !== undefined) reply.header(deviceStatusHeader, e.deviceStatus)
  tellRateLimit(reply, e.rateLimit)
  if (e.allow) reply.header('allow', e.allow.join(', '))
  if (isBodyAwaited(request.raw)) leaveBody(request, reply)
  leaveName(reply)
  const { status, contentType, body } = refusalOf(request.url, e, request.id)
  if (status === errorStatus.unauthorized) reply.header('www-authenticate', challenge)
  return reply.code(status).header('content-type', contentType).serializer(JSON.stringify).send(body)
}
