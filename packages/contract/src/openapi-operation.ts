import type { TSchema } from 'typebox'
import { type Endpoint, isRepeatable, scopeParameters, successStatuses, takesBackground } from './endpoint.ts'
import { examples } from './examples.ts'
import type { Components, Json, RefusalStatus } from './openapi-components.ts'
import { describeParameter } from './openapi-parameters.ts'
import reads from './response-examples-reads.json' with { type: 'json' }
import writes from './response-examples-writes.json' with { type: 'json' }
import { idPattern, nounOfId } from './schema.ts'
import { scimMediaType } from './scim-shapes.ts'
import { aOrAn, type CredentialKind, errorStatus } from './vocabulary.ts'

/** Examples of the answers of one operation, by status. */
type Examples = Readonly<Record<string, unknown>>
/** Recorded from live answers: `packages/server/test/support/domain/recorded-examples.ts`. */
const responseExamples = { ...reads, ...writes }

type ObjectSchema = { properties?: Record<string, TSchema>; required?: string[] }

/** Describes one endpoint from its contract alone. */
export const createOperations =
  (components: Components) =>
  (operationId: string, e: Endpoint, tag: string): Json => ({
    operationId,
    tags: [tag],
    summary: e.summary,
    description: describe(e),
    'x-access': e.access,
    ...(e.operations && { 'x-operations': e.operations }),
    ...(e.fieldPermissions && { 'x-field-permissions': e.fieldPermissions }),
    ...(e.audit && { 'x-audit': e.audit }),
    ...(e.stepUp && { 'x-step-up': e.stepUp }),
    ...(e.events && {
      'x-events': Object.fromEntries(Object.entries(e.events).map(([name, data]) => [name, components.schema(data)])),
    }),
    security: e.access.by === 'anyone' ? [] : e.access.by.map((kind) => ({ [kind]: [] })),
    parameters: [
      ...parameters(components, e, 'path'),
      ...parameters(components, e, 'query'),
      ...scopeParameters(e).map(components.parameter),
      ...requestHeaders(e).map(components.parameter),
    ],
    ...(e.body && { requestBody: requestBody(components, operationId, e) }),
    responses: responses(components, e, (responseExamples as Record<string, Examples>)[operationId] ?? {}),
  })

function describe(e: Endpoint): string {
  const { access, operations, stepUp } = e
  const lines = e.description === undefined ? [] : [e.description]
  if (access.by === 'anyone') lines.push('Needs no credential.')
  else if (operations) lines.push(...operationPermissions(operations))
  else if (access.permission !== 'own') lines.push(`Needs the permission \`${access.permission}\`.`)
  else lines.push(`For ${access.by.map((kind) => aOrAn(kind)).join(' or ')}.`)
  for (const [field, permission] of Object.entries(e.fieldPermissions ?? {}))
    lines.push(`\`${field}\` also needs the permission \`${permission}\`.`)
  if (stepUp) {
    const which = Object.entries(stepUp).map(([field, value]) => `\`${field}: ${value}\``)
    const needs = which.length > 0 ? `${which.join(', ')} needs` : 'Needs'
    lines.push(`${needs} a fresh one-time code if the tenant requires step-up.`)
  }
  if (e.audit) lines.push(`Audit event: \`${e.audit}\`${e.records ? ' when refused' : ''}.`)
  return lines.join(' ')
}

/** The operations of a body by the permission that they need. */
function operationPermissions(operations: NonNullable<Endpoint['operations']>): string[] {
  const byPermission = Map.groupBy(Object.entries(operations), ([, { permission }]) => permission)
  return [...byPermission].map(([permission, named]) => {
    const names = named.map(([name]) => `\`${name}\``)
    return `${names.join(', ')} ${names.length > 1 ? 'need' : 'needs'} the permission \`${permission}\`.`
  })
}

const provers: ReadonlySet<CredentialKind> = new Set(['device', 'enrollment_token', 'enrollment_challenge'])
function requestHeaders(e: Endpoint): string[] {
  const { by } = e.access
  const proves = by !== 'anyone' && by.some((kind) => provers.has(kind))
  return [
    ...(proves ? ['DPoP'] : []),
    ...(e.headers ?? []),
    ...(e.etag || e.download ? ['If-None-Match'] : []),
    ...(e.download ? ['Range', 'If-Range'] : []),
    ...(e.upload ? ['Repr-Digest'] : []),
    ...(e.ifMatch ? [e.ifMatch === 'required' ? 'If-Match-Required' : 'If-Match'] : []),
    ...(e.waits ? ['Prefer'] : []),
    ...(takesBackground(e) ? ['Holdfast-Background'] : []),
    ...(e.method === 'POST' && by !== 'anyone' ? ['Idempotency-Key'] : []),
  ]
}

const octets = 'application/octet-stream'
const mediaTypeOf = ({ protocol }: Endpoint) => (protocol === 'scim' ? scimMediaType : 'application/json')

function requestBody(components: Components, operationId: string, e: Endpoint): Json {
  const schema = components.schema(e.body!)
  if (e.upload) return { required: true, content: { [octets]: { schema } } }
  const example = (examples as Record<string, unknown>)[operationId]
  const { required = [] } = e.body as ObjectSchema
  return {
    required: required.length > 0,
    content: {
      [mediaTypeOf(e)]: { schema, ...(example !== undefined && { example }) },
      ...(e.form && { 'application/x-www-form-urlencoded': { schema } }),
    },
  }
}

function responses(components: Components, e: Endpoint, recorded: Examples): Json {
  const cookie = e.setsCookie ? ['Set-Cookie'] : []
  const tag = e.etag || e.download ? ['ETag'] : []
  const standing = e.access.by !== 'anyone' && e.access.by.includes('device') ? ['Holdfast-Device-Status'] : []
  const always = ['X-Request-Id', ...cookie, ...tag, ...standing]
  const success = {
    description: 'Success',
    headers: components.headers([
      ...always,
      ...(e.waits ? ['Preference-Applied'] : []),
      ...(e.download ? downloadHeaders : []),
      ...(e.stream && !e.events ? ['Content-Disposition'] : []),
      ...(e.method === 'POST' && e.access.by !== 'anyone' ? ['Idempotency-Replayed'] : []),
    ]),
  }
  const found = isRepeatable(e) && {
    description: 'The object exists already. Nothing is created, and `changed` is false',
  }
  const types = e.stream ?? { [e.download ? octets : mediaTypeOf(e)]: e.response }
  const content = Object.fromEntries(
    Object.entries(types).map(([type, schema]) => [type, { schema: components.schema(schema) }]),
  )
  const [usual] = Object.values(recorded)
  const contentOf = (status: number): Json => {
    const example = recorded[status] ?? usual
    if (example === undefined) return content
    return Object.fromEntries(Object.entries(content).map(([type, described]) => [type, { ...described, example }]))
  }
  return {
    ...Object.fromEntries(
      successStatuses(e).map((status) => [
        status,
        status === 204 ? success : { ...success, ...(status === 200 && found), content: contentOf(status) },
      ]),
    ),
    ...(redirectsForms(e) && {
      303: {
        description: 'Answer to a form: redirect to the next page',
        headers: components.headers([...always, 'Location']),
      },
    }),
    ...(e.download && {
      206: {
        description: 'The requested range',
        headers: components.headers([...always, ...downloadHeaders, 'Content-Range']),
        content,
      },
    }),
    ...((e.etag || e.download) && {
      304: {
        description: 'The caller has the current content already (`If-None-Match`)',
        headers: components.headers(always),
      },
    }),
    ...Object.fromEntries(
      refusalStatuses(e).map((status) => [
        status,
        components.refusal(status, { orPage: showsPage(e, status), protocol: e.protocol }),
      ]),
    ),
  }
}

const downloadHeaders = ['Accept-Ranges', 'Content-Disposition', 'Repr-Digest']

/** A failed sign-in by form shows the form again. */
const showsPage = (e: Endpoint, status: RefusalStatus) =>
  e.form === true && e.protocol === undefined && e.access.by === 'anyone' && (status === 401 || status === 429)

/** Returns every status of an operation: its successes, and its refusals. */
export const statusesOf = (e: Endpoint): readonly number[] => [
  ...successStatuses(e),
  ...(redirectsForms(e) ? [303] : []),
  ...(e.download ? [206] : []),
  ...(e.etag || e.download ? [304] : []),
  ...refusalStatuses(e),
]

/** Returns the success statuses whose body is JSON that ends: the API description shows an example of each. */
export const exemplaryStatuses = (e: Endpoint): readonly number[] =>
  e.stream || e.download ? [] : successStatuses(e).filter((status) => status !== 204)

const redirectsForms = (e: Endpoint): boolean => e.form === true && e.protocol === undefined

/** Returns every possible refusal: those that the endpoint declares, and those of the request pipeline. */
function refusalStatuses(e: Endpoint): RefusalStatus[] {
  if (e.protocol === 'oauth') return [400, 429, 500]
  const statuses = new Set<RefusalStatus>([400, 500, ...(e.errors ?? []).map((code) => errorStatus[code])])
  const guarded = e.access.by !== 'anyone'
  if (guarded) for (const status of [401, 403, 429] as const) statuses.add(status)
  if (e.protocol === 'scim') {
    if (e.ifMatch) statuses.add(412)
  } else if (e.method !== 'GET') statuses.add(422)
  if (e.params || scopeParameters(e).length > 0) statuses.add(404)
  if (e.unavailable) statuses.add(503)
  return [...statuses].sort((a, b) => a - b)
}

function parameters(components: Components, e: Endpoint, where: 'path' | 'query'): Json[] {
  const { properties = {}, required = [] } = ((where === 'path' ? e.params : e.query) ?? {}) as ObjectSchema
  const isList = 'limit' in ((e.query as ObjectSchema | undefined)?.properties ?? {})
  return Object.entries(properties).map(([name, s]) => ({
    name,
    in: where,
    required: required.includes(name),
    description: describeParameter({ name, where, isList }, s),
    schema: withoutDescription(where === 'query' ? inQuery(components, s) : components.schema(s)),
  }))
}

/** The parameter has the description. */
function withoutDescription(schema: unknown): unknown {
  const { description: _, ...others } = schema as Json
  return others
}

/** An id in a query must have the form of its noun. One in a path may be any text, and then gets 404. */
function inQuery(components: Components, schema: TSchema): unknown {
  const noun = nounOfId(schema)
  const described = components.schema(schema)
  return noun === undefined ? described : { ...(described as Json), pattern: idPattern(noun) }
}
