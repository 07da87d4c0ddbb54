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
  'X-Request-Id': header('Finds the audit event: `GET /v1/audit/events?request_id=`', text, requestId),
  ETag: header('Tag of this content, for If-None-Match or If-Match', text, '"7"'),
  'Retry-After': header('Seconds to wait', { type: 'integer', minimum: 0 }, 2),
  'RateLimit-Policy': header(
    'How often this credential may ask: `q` requests at once, and in `w` seconds so many again (draft-ietf-httpapi-ratelimit-headers)',
    text,
    '"api_key";q=60;w=6',
  ),
  RateLimit: header('How many are left (`r`), and in how many seconds all are (`t`)', text, '"api_key";r=57;t=1'),
  'Preference-Applied': header('Time for which the request could have been held', text, 'wait=55'),
  'WWW-Authenticate': header('How to authenticate', text, 'DPoP algs="ES256 Ed25519", Bearer'),
  'Holdfast-Device-Status': header(
    'For a device that proved its key and is not active: `pending` with a success; with 401 `suspended` (can be reactivated) or `revoked` (final)',
    { type: 'string', enum: [...toldDeviceStatuses] },
    'suspended',
  ),
  'Set-Cookie': header("The session's cookie", text, '__Host-holdfast_session=…; Path=/; Secure; HttpOnly'),
  Location: header('Next URL of the browser', text, '/admin'),
  'Accept-Ranges': header('Ranges are supported', text, 'bytes'),
  'Content-Range': header('The returned range and the total size', text, 'bytes 1024-2047/4096'),
  'Content-Disposition': header('The name of the file', text, 'attachment; filename="holdfast-1.4.0.tar.gz"'),
  'Repr-Digest': header(
    'SHA-256 of the whole (RFC 9530)',
    text,
    'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:',
  ),
  'Idempotency-Replayed': header('True: this repeats the first answer to this Idempotency-Key', text, 'true'),
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
  DPoP: inHeader('DPoP', 'Proof of the device key for this request (RFC 9449)'),
  'DPoP-New-Key': inHeader('DPoP-New-Key', 'Proof of the new device key'),
  'If-None-Match': inHeader('If-None-Match', 'Known tags: 304 if one of them is current'),
  'If-Match': inHeader(
    'If-Match',
    'The ETag of the object to change: 422 if its version, the part before the dot, is no longer current; 412 in SCIM',
  ),
  Range: inHeader('Range', 'One part, `bytes=<first>-<last>`; several are answered with the whole'),
  'If-Range': inHeader('If-Range', 'The ETag of the expected content; if it differs, the whole is sent'),
  'Repr-Digest': inHeader('Repr-Digest', 'SHA-256 of the body, `sha-256=:<base64>:` (RFC 9530): refused if it differs'),
  'Last-Event-ID': inHeader('Last-Event-ID', 'The `id` of the last event that was read: the later events follow'),
  'Holdfast-Background': inHeader(
    'Holdfast-Background',
    '`1`: a timer or a stream sent this request, not a person, so it does not prolong the session',
    { type: 'string', enum: ['1'] },
  ),
  Prefer: inHeader(
    'Prefer',
    `\`wait=N\`: hold the answer up to N seconds (at most ${longestHoldSeconds}) until there is something new`,
  ),
  'Idempotency-Key': inHeader(
    'Idempotency-Key',
    `A repetition with the same key within ${idempotencyHours} hours gets the first answer again`,
    {
      type: 'string',
      pattern: '^[\\x21-\\x7e]{1,128}$',
    },
  ),
  tenant_id: inQuery('tenant_id', 'The tenant; only for platform roles and the deployment-wide gateway secret'),
  gateway_id: inQuery('gateway_id', 'For the deployment-wide gateway secret: the gateway it speaks for'),
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
  409: ['EntitlementExceeded', refusal('A limit of the plan or of a token is reached')],
  422: ['ValidationError', refusal('Breaks the schema or a rule; `errors` names the fields')],
  429: ['RateLimited', refusal('Too many requests', ['Retry-After', 'RateLimit-Policy', 'RateLimit'])],
  500: [
    'InternalError',
    refusal('Internal error, or the database is unavailable; then with Retry-After', ['Retry-After']),
  ],
  503: ['NotReady', refusal('The database does not answer, or the process starts or stops', ['Retry-After'])],
}
const scimRefusal = (description: string, more: readonly string[] = []): Json => ({
  ...refusal(description, more),
  content: { [scimMediaType]: { schema: ref('schemas', 'ScimError') } },
})
const scimRefusals: Record<number, [name: string, response: Json]> = {
  400: ['ScimBadRequest', scimRefusal('Malformed, or violates the schema or a rule; `scimType` has the type')],
  401: ['ScimUnauthorized', scimRefusal('Missing or invalid credentials', ['WWW-Authenticate'])],
  403: [
    'ScimForbidden',
    scimRefusal('The credential lacks the permission, the user is protected, or the change is held'),
  ],
  404: ['ScimNotFound', scimRefusal("No such entry of the API key's directory")],
  409: ['ScimConflict', scimRefusal('The name, the mail address or the externalId is already taken')],
  412: ['ScimPreconditionFailed', scimRefusal('If-Match names a version that is no longer current')],
  429: ['ScimRateLimited', scimRefusal('Too many requests', ['Retry-After', 'RateLimit-Policy', 'RateLimit'])],
  500: [
    'ScimInternalError',
    scimRefusal('Internal error, or the database is unavailable; then with Retry-After', ['Retry-After']),
  ],
}
const oauthRefusal = (description: string, more: readonly string[] = []): Json => ({
  ...refusal(description, more),
  content: { 'application/json': { schema: ref('schemas', 'OAuthError') } },
})
const oauthRefusals: Record<number, [name: string, response: Json]> = {
  400: ['OAuthInvalidRequest', oauthRefusal('Malformed or refused; the audit event has the reason')],
  429: ['OAuthRateLimited', oauthRefusal('Too many requests', ['Retry-After'])],
  500: [
    'OAuthServerError',
    oauthRefusal('Internal error, or the database is unavailable; then with Retry-After', ['Retry-After']),
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
