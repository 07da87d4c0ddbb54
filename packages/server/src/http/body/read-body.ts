import { createHash } from 'node:crypto'
import type { Endpoint } from '@holdfast/contract'
import { scimMediaType } from '@holdfast/contract/scim-shapes'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, fail } from '../../kernel/app-error.ts'
import { createSlices, type Slices } from '../../kernel/time-slice.ts'
import { hasBody } from '../connection/body-timeout.ts'
import { readMediaType } from './media-type.ts'
import { readJson, readLong } from './read-json.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    takesForm?: boolean
    protocol?: Endpoint['protocol']
    bodyNames?: number | undefined
    textLimit?: number | undefined
    judgesTexts?: true | undefined
    upload?: boolean
  }
  interface FastifyRequest {
    /** Set for a body too long to validate in one step. `digest` is that of its bytes, if idempotency needs it. */
    longBody: { digest: Buffer | undefined } | null
  }
}

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'
const octets = 'application/octet-stream'
const compressed = () => new AppError('bad_request', 'send the body without Content-Encoding')

export const isForm = ({ headers }: FastifyRequest): boolean => readMediaType(headers['content-type'])?.type === form

/** Returns the media type of a text in UTF-8; undefined if the field can't be parsed. */
function typeOfText({ headers }: FastifyRequest): string | undefined {
  const read = readMediaType(headers['content-type'])
  if (read?.charset !== undefined && read.charset !== 'utf-8')
    fail('bad_request', `send the body in UTF-8: Content-Type says ${read.charset.slice(0, 64)}`)
  return read?.type
}

/**
 * Size in bytes up to which a body is parsed in one step. Longer ones take milliseconds, so other work runs meanwhile.
 */
const atOnce = 128 * 1024

/**
 * Registers the parsers of bodies: JSON, also by SCIM's media type; forms and raw bytes if the route allows them;
 * nothing else, and nothing compressed.
 */
export function registerBodyReaders(http: FastifyInstance): void {
  http.removeAllContentTypeParsers()
  http.decorateRequest('longBody', null)
  // The handler of an upload reads its body. Other routes refuse it.
  http.addContentTypeParser(octets, (request: FastifyRequest, _payload, done) => {
    if (!request.routeOptions.config.upload) done(new AppError('bad_request', 'send the body as application/json'))
    else done(null)
  })
  http.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    if (request.headers['content-encoding'] !== undefined) throw compressed()
    const type = typeOfText(request)
    if (type === form && request.routeOptions.config.takesForm) return readForm(bytes)
    const takesScim = request.routeOptions.config.protocol === 'scim'
    if (type !== json && !(takesScim && type === scimMediaType))
      fail('bad_request', 'send the body as application/json')
    // Some clients send the type of an empty body.
    if (bytes.length === 0 && request.method === 'DELETE') return undefined
    if (bytes.length === 0) fail('bad_request', 'the body is empty')
    if (bytes.length <= atOnce) return readJson(bytes, request.routeOptions.config)
    const reading = readLongBody(request, bytes)
    return request.largeBody?.during(reading) ?? reading
  })
}

async function readLongBody(request: FastifyRequest, bytes: Buffer): Promise<unknown> {
  const slices = createSlices()
  const isRepeatable = request.headers['idempotency-key'] !== undefined
  request.longBody = { digest: isRepeatable ? await digestOf(bytes, slices) : undefined }
  return readLong(bytes, request.routeOptions.config, slices)
}

async function digestOf(bytes: Buffer, slices: Slices): Promise<Buffer> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += atOnce) {
    hash.update(bytes.subarray(at, at + atOnce))
    if (slices.isOver()) await slices.next()
  }
  return hash.digest()
}

function readForm(bytes: Buffer): Record<string, string> {
  const fields: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(bytes.toString('utf8'))) {
    if (name in fields) fail('bad_request', `${name}: is given twice`)
    fields[name] = value
  }
  return { ...fields }
}

/** Returns the reason why a request is no valid upload, before its body is read; undefined if it is valid. */
export function noUpload({ headers }: FastifyRequest): AppError | undefined {
  if (readMediaType(headers['content-type'])?.type !== octets || !hasBody(headers))
    return new AppError('bad_request', `send the body as ${octets}`)
  return headers['content-encoding'] === undefined ? undefined : compressed()
}

/** A route without a body accepts none or an empty object. */
export function unexpectedBody(body: unknown): undefined {
  if (body !== undefined && body !== null && !(typeof body === 'object' && Object.keys(body).length === 0))
    fail('validation_error', 'this route accepts no body: send the request without one')
  return undefined
}
