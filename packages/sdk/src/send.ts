import { Readable } from 'node:stream'
import { type Contract, contract, type Endpoint, type Operation, type Output } from '@holdfast/contract'
import { proofSeconds } from '@holdfast/contract/limits'
import { scimUrns } from '@holdfast/contract/scim-shapes'
import { deviceStatusHeader, errorStatus } from '@holdfast/contract/vocabulary'
import { type Dispatcher, request } from 'undici'
import { ApiError, ConnectionError } from './errors.ts'

export type SenderOptions = {
  /** Address of the server, e.g. `https://vpn.example.com`. Every request keeps its path as a prefix. */
  baseUrl: string
  credential?: string | (() => string)
  /** A session cookie as `name=value`. */
  cookie?: string
  /** Returns the value of the DPoP header for one request (RFC 9449). */
  prove?: (method: string, url: string, credential: string) => string
  dispatcher?: Dispatcher
  headers?: Record<string, string>
}

export type RequestOptions = {
  headers?: Record<string, string> | undefined
  signal?: AbortSignal | undefined
  /** Allows safe repetition of a POST: the server repeats the first response. */
  idempotencyKey?: string | undefined
  /** The ETag of the version to change. Another version is refused with 422. */
  ifMatch?: string | undefined
  /** Seconds to hold the response until a change (`Prefer: wait`, RFC 7240). */
  wait?: number | undefined
}

export type Reply<T> = {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** Absent for 304, the only non-success status that is not thrown. */
  body: T | undefined
}
export type Send = <K extends Operation>(
  operation: K,
  input?: object,
  options?: RequestOptions,
) => Promise<Reply<Output<Contract[K]>>>

type RawInput = { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown }

/** Version of this package: the user agent in the server's audit log. */
const version = '0.1.0'

/**
 * Seconds without an answer, beyond the requested wait, after which the server counts as unreachable. An endpoint may
 * set more.
 */
const patienceSeconds = 30

/**
 * Creates a function that sends one request and returns status and headers too: for ETag, 304 and long polls. Redirects
 * are refused.
 */
export function createSender(options: SenderOptions): Send {
  const base = checkBaseUrl(options.baseUrl)
  const send = async (operation: Operation, input: RawInput = {}, requestOptions: RequestOptions = {}) => {
    const endpoint: Endpoint = contract[operation]
    const url = base + fillPath(endpoint.path, input.params)
    const headers = requestHeaders(options, requestOptions, endpoint, url)
    const body = bodyFor(endpoint, input.body, headers)
    const timeout = ((endpoint.patience ?? patienceSeconds) + (requestOptions.wait ?? 0)) * 1000
    const unreachable = (cause: unknown) =>
      cause instanceof ApiError || cause instanceof ConnectionError || requestOptions.signal?.aborted
        ? cause
        : new ConnectionError(`Can't reach ${base}: ${causeText(cause)}.`, { cause })
    try {
      const response = await request(url + queryText(input.query), {
        method: endpoint.method,
        headers,
        headersTimeout: timeout,
        bodyTimeout: timeout,
        ...(body !== undefined && { body }),
        ...(requestOptions.signal && { signal: requestOptions.signal }),
        ...(options.dispatcher && { dispatcher: options.dispatcher }),
      })
      const { statusCode: status } = response
      if ((endpoint.download || endpoint.stream) && status >= 200 && status < 300)
        return { status, headers: response.headers, body: received(response.body, unreachable) }
      return readReply(base, status, response.headers, await response.body.text())
    } catch (cause) {
      throw unreachable(cause)
    }
  }
  // The body has the operation's type because the server serialises it through the same contract.
  return send as Send
}

/** Yields the bytes of a download. It converts errors of the connection. */
async function* received(bytes: AsyncIterable<Uint8Array>, failure: (cause: unknown) => unknown) {
  try {
    yield* bytes
  } catch (cause) {
    throw failure(cause)
  }
}

/** Returns a JSON or raw body and sets its content type. */
function bodyFor(endpoint: Endpoint, given: unknown, headers: Record<string, string>) {
  if (!endpoint.body) return undefined
  headers['content-type'] = endpoint.upload ? 'application/octet-stream' : 'application/json'
  if (!endpoint.upload) return JSON.stringify(given ?? {})
  return Readable.from(given as AsyncIterable<Uint8Array>)
}

/** Returns the absolute URL of an operation without parameters, for a proof of possession. */
export const urlOf = (baseUrl: string, operation: Operation): string => checkBaseUrl(baseUrl) + contract[operation].path

function checkBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const usable = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash
  if (!usable)
    throw new TypeError(`baseUrl ${JSON.stringify(baseUrl)} is not valid: write it like https://vpn.example.com`)
  return url.origin + url.pathname.replace(/\/+$/, '')
}

/** Throws `TypeError` unless the connection uses TLS or the server is on this machine. */
export function requireTls(baseUrl: string): void {
  const { protocol, hostname } = new URL(checkBaseUrl(baseUrl))
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol !== 'https:' && !isLocal) throw new TypeError(`${baseUrl} does not use TLS: use an https:// URL`)
}

function fillPath(path: string, params: Record<string, unknown> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    // `.` and `..` are steps in a path even when encoded, so they can't be the name of anything.
    if (typeof value !== 'string' || value === '' || value === '.' || value === '..')
      throw new TypeError(`${name} must be an id`)
    return encodeURIComponent(value)
  })
}

function queryText(query: Record<string, unknown> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
  return search.size > 0 ? `?${search}` : ''
}

function requestHeaders(
  options: SenderOptions,
  { headers, idempotencyKey, ifMatch, wait }: RequestOptions,
  endpoint: Endpoint,
  url: string,
): Record<string, string> {
  const all: Record<string, string> = {
    accept: 'application/json',
    'user-agent': `holdfast-sdk/${version}`,
    ...options.headers,
    ...headers,
  }
  if (idempotencyKey !== undefined) all['idempotency-key'] = idempotencyKey
  if (ifMatch !== undefined) all['if-match'] = ifMatch
  if (wait !== undefined && wait > 0) all.prefer = `wait=${wait}`
  if (options.cookie !== undefined) {
    all.cookie = options.cookie
    // A request with a cookie that changes or starts something must name the server's own origin.
    if (endpoint.method !== 'GET' || endpoint.begins) all.origin ??= new URL(url).origin
  }
  const credential = typeof options.credential === 'function' ? options.credential() : options.credential
  if (credential !== undefined && endpoint.access.by !== 'anyone') {
    all.authorization = `Bearer ${credential}`
    if (options.prove) all.dpop = options.prove(endpoint.method, url, credential)
  }
  return all
}

function readReply(base: string, status: number, headers: Reply<unknown>['headers'], text: string): Reply<unknown> {
  if (status === 304) return { status, headers, body: undefined }
  if (status === 204) return { status, headers, body: null }
  if (status >= 300 && status < 400)
    throw new ConnectionError(
      `${base} redirects to ${String(headers.location)}. Redirects are not followed: check the URL.`,
    )
  const body = parseJson(text)
  if (status >= 400) throw toApiError(status, headers, body)
  if (status < 200 || body === undefined)
    throw new ConnectionError(`${base} answered ${status}, but not with JSON: check the URL.`)
  return { status, headers, body }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toApiError(status: number, headers: Reply<unknown>['headers'], body: unknown): ApiError {
  const { error = codeInScim(status, body), detail, request_id, errors } = (body ?? {}) as Record<string, unknown>
  const requestId = request_id ?? headers['x-request-id']
  const retryAfter = Number(headers['retry-after'] ?? Number.NaN)
  const deviceStatus = headers[deviceStatusHeader]
  const known = typeof error === 'string' && typeof detail === 'string'
  const ahead = status === 401 ? secondsAhead(headers.date) : 0
  const clock = Math.abs(ahead) < mostSkewSeconds ? '' : ` ${clockSentence(ahead)}`
  return new ApiError(status, {
    code: known ? error : 'unexpected_response',
    detail: known ? `${detail}${clock}` : `the server answered ${status} without an explanation`,
    requestId: typeof requestId === 'string' ? requestId : undefined,
    errors: Array.isArray(errors) ? errors.filter(isFieldError) : undefined,
    retryAfterSeconds: Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : undefined,
    deviceStatus: deviceStatus === 'suspended' || deviceStatus === 'revoked' ? deviceStatus : undefined,
  })
}

/**
 * Largest clock difference in seconds. A proof with another time is refused without a reason; the response contains the
 * server's time.
 */
const mostSkewSeconds = proofSeconds - 10
const secondsAhead = (date: unknown): number => {
  const server = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return Number.isNaN(server) ? 0 : Math.round((Date.now() - server) / 1000)
}
const clockSentence = (ahead: number) =>
  `The clock of this machine is ${Math.abs(ahead)} seconds ${ahead > 0 ? 'ahead of' : 'behind'} the server's: set it, then try again.`

/** Returns the code of a SCIM error (RFC 7644 §3.12): its `scimType`, or the code of its status. */
const codeInScim = (status: number, body: unknown): unknown => {
  const { schemas, scimType } = (body ?? {}) as Record<string, unknown>
  if (!Array.isArray(schemas) || !schemas.includes(scimUrns.error)) return undefined
  return scimType ?? Object.entries(errorStatus).find(([, its]) => its === status)?.[0] ?? 'stale'
}

const isFieldError = (value: unknown): value is { field: string; message: string } =>
  typeof value === 'object' &&
  value !== null &&
  'field' in value &&
  typeof value.field === 'string' &&
  'message' in value &&
  typeof value.message === 'string'

const sentences: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be resolved',
  ECONNRESET: 'the connection was closed unexpectedly',
  UND_ERR_SOCKET: 'the connection was closed unexpectedly',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came in time',
  UND_ERR_BODY_TIMEOUT: 'the answer is incomplete',
}

function causeText(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const code = 'code' in cause ? String(cause.code) : ''
  return sentences[code] ?? (cause.message || code)
}

/** Returns the body of a response that must have one. */
export function bodyOf<T>({ body, status }: Reply<T>): T {
  if (body === undefined)
    throw new ConnectionError(`The server answered ${status} without content to a request for content.`)
  return body
}

export const etagOf = ({ headers: { etag } }: Reply<unknown>): string | null => (typeof etag === 'string' ? etag : null)
