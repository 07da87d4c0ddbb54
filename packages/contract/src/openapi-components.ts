import type { TSchema } from 'typebox'
import type { Endpoint } from './endpoint.ts'
import { OAuthError } from './federation-logout.ts'
import { idempotencyHours, longestHoldSeconds } from './limits.ts'
import { ScimError, scimMediaType } from './scim-shapes.ts'
import { type errorStatus, toldDeviceStatuses } from './vocabulary.ts'

export type Json = Record<string, unknown>

const error = { $ref: '#/components/schemas/Error' }
const ref = (kind: string, name: string): Json => ({ $ref: `#/components/${kind}/${name}` })
const header = (description: string, schema: Json, example: unknown): Json => ({ description, schema, example })
const text = { type: 'string' }
const requestId = '01a1ffc296a07c3e8a4e0d9f3c5b7e21'

const headers: Record<string, Json> = {
  'X-Request-Id': header(
    'Id of the request. `GET /v1/audit/events?request_id=` finds its audit events',
    text,
    requestId,
  ),
  ETag: header('Tag of this version of the content, for `If-None-Match` or `If-Match`', text, '"7"'),
  'Retry-After': header('Seconds to wait before the next request', { type: 'integer', minimum: 0 }, 2),
  'RateLimit-Policy': header(
    'Rate limit of this credential: `q` requests at once, and as many again in `w` seconds (draft-ietf-httpapi-ratelimit-headers)',
    text,
    '"api_key";q=60;w=6',
  ),
  RateLimit: header(
    'Remaining requests (`r`), and seconds until all are available again (`t`)',
    text,
    '"api_key";r=57;t=1',
  ),
  'Preference-Applied': header(
    'Longest time for which the server would have held the request, in seconds: `wait=N`',
    text,
    'wait=55',
  ),
  'WWW-Authenticate': header(
    'Authentication schemes that the operation accepts',
    text,
    'DPoP algs="ES256 Ed25519", Bearer',
  ),
  'Holdfast-Device-Status': header(
    'Status of a device that proved its key and is not active. A success has `pending`. A 401 has `suspended` (can be reactivated) or `revoked` (final)',
    { type: 'string', enum: [...toldDeviceStatuses] },
    'suspended',
  ),
  'Set-Cookie': header('Cookie of the session', text, '__Host-holdfast_session=…; Path=/; Secure; HttpOnly'),
  Location: header('Next URL of the browser', text, '/admin'),
  'Accept-Ranges': header('`bytes`: the download supports ranges', text, 'bytes'),
  'Content-Range': header('Returned range and total size, in bytes', text, 'bytes 1024-2047/4096'),
  'Content-Disposition': header('File name of the content', text, 'attachment; filename="holdfast-1.4.0.tar.gz"'),
  'Repr-Digest': header(
    'SHA-256 of the whole content (RFC 9530)',
    text,
    'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:',
  ),
  'Idempotency-Replayed': header(
    '`true`: this answer repeats the first answer to this `Idempotency-Key`',
    text,
    'true',
  ),
}

const inHeader = (name: string, description: string, schema: Json = text): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
})
const inQuery = (name: string, description: string): Json => ({ ...inHeader(name, description), in: 'query' })
const parameters: Record<string, Json> = {
  DPoP: inHeader('DPoP', 'Proof of the device key for this request (DPoP, RFC 9449)'),
  'DPoP-New-Key': inHeader(
    'DPoP-New-Key',
    'Proof of the new device key for this request (DPoP, RFC 9449). Absent: the key stays',
  ),
  'If-None-Match': inHeader(
    'If-None-Match',
    'ETags that the caller has, separated by commas. The answer is 304 if one of them is current',
  ),
  'If-Match': inHeader(
    'If-Match',
    'ETag of the object to change. The answer is 422 (SCIM: 412) if its version, the part before the dot, is no longer current',
  ),
  'If-Match-Required': {
    ...inHeader(
      'If-Match',
      'Required. ETag of the object to change, or `*`. The answer is 422 if it is absent, or if its version, the part before the dot, is no longer current',
    ),
    required: true,
  },
  Range: inHeader(
    'Range',
    'One range in bytes: `bytes=<first>-<last>`. A request for several ranges gets the whole content',
  ),
  'If-Range': inHeader(
    'If-Range',
    'ETag of the expected content. If it differs, the answer is the whole content instead of the range',
  ),
  'Repr-Digest': inHeader(
    'Repr-Digest',
    'SHA-256 of the body: `sha-256=:<base64>:` (RFC 9530). A body with another digest is refused',
  ),
  'Last-Event-ID': inHeader(
    'Last-Event-ID',
    '`id` of the last event that the caller has read. The stream continues after it',
  ),
  'Holdfast-Background': inHeader(
    'Holdfast-Background',
    '`1`: a timer or a stream sent this request, not a person. The request does not prolong the session. Any other value has no effect',
  ),
  Prefer: inHeader(
    'Prefer',
    `\`wait=N\`: the server holds the request until there is something new, for N seconds at most. N is at most ${longestHoldSeconds}. Default: the answer comes at once`,
  ),
  'Idempotency-Key': inHeader(
    'Idempotency-Key',
    `Key that the caller chooses for this request. A repetition with the same key within ${idempotencyHours} hours gets the first answer again`,
    {
      type: 'string',
      pattern: '^[\\x21-\\x7e]{1,128}$',
    },
  ),
  tenant_id: inQuery(
    'tenant_id',
    'Id of the tenant. Only for platform roles and the deployment-wide gateway secret. Default: the tenant of the credential',
  ),
  gateway_id: inQuery(
    'gateway_id',
    'Id of the gateway. Only for the deployment-wide gateway secret, which requires it',
  ),
}

const refusal = (description: string, more: readonly string[] = []): Json => ({
  description,
  headers: Object.fromEntries(['X-Request-Id', ...more].map((name) => [name, ref('headers', name)])),
  content: { 'application/json': { schema: error } },
})
const refusals: Record<number, [name: string, response: Json]> = {
  400: ['BadRequest', refusal('The request is malformed')],
  401: ['Unauthorized', refusal('Missing or invalid credentials', ['WWW-Authenticate', 'Holdfast-Device-Status'])],
  403: ['Forbidden', refusal('The credential lacks the permission')],
  404: ['NotFound', refusal('The object does not exist, or belongs to another tenant')],
  409: [
    'EntitlementExceeded',
    refusal('A limit of the license, the plan, the tenant or an enrollment token is reached'),
  ],
  422: ['ValidationError', refusal('The request violates the schema or a rule. `errors` names the fields')],
  429: ['RateLimited', refusal('Too many requests', ['Retry-After', 'RateLimit-Policy', 'RateLimit'])],
  500: ['InternalError', refusal('Internal error. With `Retry-After`: the database is unavailable', ['Retry-After'])],
  503: ['NotReady', refusal('The database does not answer, or the server starts or stops', ['Retry-After'])],
}
const scimRefusal = (description: string, more: readonly string[] = []): Json => ({
  ...refusal(description, more),
  content: { [scimMediaType]: { schema: ref('schemas', 'ScimError') } },
})
const scimRefusals: Record<number, [name: string, response: Json]> = {
  400: [
    'ScimBadRequest',
    scimRefusal('The request is malformed, or violates the schema or a rule. `scimType` has the type'),
  ],
  401: ['ScimUnauthorized', scimRefusal('Missing or invalid credentials', ['WWW-Authenticate'])],
  403: [
    'ScimForbidden',
    scimRefusal('The credential lacks the permission, the user is protected, or the change is held'),
  ],
  404: ['ScimNotFound', scimRefusal("The API key's directory has no such entry")],
  409: [
    'ScimConflict',
    scimRefusal('The name, the mail address or the externalId is in use, or a limit of the plan is reached'),
  ],
  412: ['ScimPreconditionFailed', scimRefusal('If-Match names a version that is no longer current')],
  429: ['ScimRateLimited', scimRefusal('Too many requests', ['Retry-After', 'RateLimit-Policy', 'RateLimit'])],
  500: [
    'ScimInternalError',
    scimRefusal('Internal error. With `Retry-After`: the database is unavailable', ['Retry-After']),
  ],
}
const oauthRefusal = (description: string, more: readonly string[] = []): Json => ({
  ...refusal(description, more),
  content: { 'application/json': { schema: ref('schemas', 'OAuthError') } },
})
const oauthRefusals: Record<number, [name: string, response: Json]> = {
  400: ['OAuthInvalidRequest', oauthRefusal('The request is malformed or refused. The audit event has the reason')],
  429: ['OAuthRateLimited', oauthRefusal('Too many requests', ['Retry-After'])],
  500: [
    'OAuthServerError',
    oauthRefusal('Internal error. With `Retry-After`: the database is unavailable', ['Retry-After']),
  ],
}
const ofProtocol = {
  scim: { refusals: scimRefusals, body: ScimError },
  oauth: { refusals: oauthRefusals, body: OAuthError },
}
const page: Json = { 'text/html': { schema: { type: 'string' } } }
export type RefusalStatus = (typeof errorStatus)[keyof typeof errorStatus] | 412 | 503

/**
 * Collects the components that operations share: every schema with a title, and the headers, parameters and responses
 * that are used. `definitions`: the full schemas for titles that a schema only names.
 */
export function createComponents(definitions: Readonly<Record<string, TSchema>>) {
  const defined: Record<string, Json> = {}
  const schemas: Record<string, Json> = {}
  const used = {
    headers: new Map<string, Json>(),
    parameters: new Map<string, Json>(),
    responses: new Map<string, Json>(),
  }

  function inner(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(inner)
    if (typeof value !== 'object' || value === null) return value
    if ('title' in value && typeof value.title === 'string') return named(value.title, value)
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inner(v)]))
  }
  function named(title: string, schema: object): Json {
    if (title in defined) return ref('schemas', title)
    const { title: _, readOnly, ...rest } = schema as Json
    const at = { ...ref('schemas', title), ...(readOnly === true && { readOnly }) }
    const content = inner(rest) as Json
    const before = schemas[title]
    if (before && JSON.stringify(before) !== JSON.stringify(content))
      throw new Error(`two schemas have the title ${title}`)
    schemas[title] = content
    return at
  }
  const sorted = (all: Map<string, Json>) => Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)))

  const parameter = (name: string): Json => {
    used.parameters.set(name, parameters[name]!)
    return ref('parameters', name)
  }
  const headersOf = (names: readonly string[]): Json => {
    for (const name of names) used.headers.set(name, headers[name]!)
    return Object.fromEntries(names.map((name) => [name, ref('headers', name)]))
  }
  for (const [title, schema] of Object.entries(definitions)) defined[title] = inner(schema) as Json
  return {
    schema: (schema: TSchema): unknown => inner(schema),
    parameter,
    headers: headersOf,
    /** `orPage`: a client that sent a form gets a page. */
    refusal: (
      status: RefusalStatus,
      { orPage, protocol }: { orPage: boolean; protocol: Endpoint['protocol'] },
    ): Json => {
      const spoken = protocol && ofProtocol[protocol]
      const [kind, response] = (spoken?.refusals ?? refusals)[status]!
      if (spoken) inner(spoken.body)
      const name = orPage ? `${kind}Page` : kind
      headersOf(Object.keys(response.headers as Json))
      used.responses.set(name, orPage ? { ...response, content: { ...(response.content as Json), ...page } } : response)
      return ref('responses', name)
    },
    all: (): Json => ({
      schemas: sorted(new Map(Object.entries({ ...schemas, ...defined }))),
      headers: sorted(used.headers),
      parameters: sorted(used.parameters),
      responses: sorted(used.responses),
    }),
  }
}
export type Components = ReturnType<typeof createComponents>
