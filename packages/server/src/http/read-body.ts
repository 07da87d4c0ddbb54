import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fail } from '../kernel/app-error.ts'
import { readJson } from './read-json.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    takesForm?: boolean
    bodyNames?: number | undefined
  }
}

const json = /^application\/json(?:; ?charset=utf-8)?$/i
const form = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i

export const isForm = (request: FastifyRequest) => form.test(request.headers['content-type'] ?? '')

/** Bodies are JSON; forms where the route says so; nothing else, and nothing compressed. */
export function registerBodyReaders(http: FastifyInstance): void {
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    const type = request.headers['content-type'] ?? ''
    if (request.headers['content-encoding'] !== undefined) fail('bad_request', 'send the body without Content-Encoding')
    if (form.test(type) && request.routeOptions.config.takesForm) return readForm(bytes)
    if (!json.test(type)) fail('bad_request', 'send a body as application/json')
    if (bytes.length === 0) fail('bad_request', 'the body is empty')
    return readJson(bytes, request.routeOptions.config.bodyNames)
  })
}

/** Whether a request announces a body, of any type. */
export const hasBody = (headers: FastifyRequest['headers']): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

function readForm(bytes: Buffer): Record<string, string> {
  const fields: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(bytes.toString('utf8'))) {
    if (name in fields) fail('bad_request', `${name}: is given twice`)
    fields[name] = value
  }
  return { ...fields }
}

/** A route without a body takes none, or an empty object. */
export function unexpectedBody(body: unknown): undefined {
  if (body !== undefined && body !== null && !(typeof body === 'object' && Object.keys(body).length === 0))
    fail('validation_error', 'this route takes no body')
  return undefined
}
