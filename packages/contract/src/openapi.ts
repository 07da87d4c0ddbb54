import type { TSchema } from 'typebox'
import { type Endpoint, scopeParameters } from './endpoint.ts'
import { operations } from './index.ts'
import { PolicyDocument } from './policy-document.ts'
import { ErrorBody } from './schema.ts'
import { type ErrorCode, errorStatus } from './vocabulary.ts'

type Json = Record<string, unknown>
type ObjectSchema = { properties?: Record<string, TSchema>; required?: string[] }

/** The whole interface as an OpenAPI 3.1 document: a pure function of the contract. */
export function openapi(): { openapi: string; info: Json; paths: Json; components: Json } {
  const paths: Record<string, Json> = {}
  for (const [operationId, e] of operations) {
    const path = paths[e.path] ?? {}
    paths[e.path] = path
    path[e.method.toLowerCase()] = operation(operationId, e)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Holdfast control plane', version: 'v1', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    paths,
    components: {
      schemas: { Error: ErrorBody, PolicyDocument },
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: '__Host-holdfast_session' },
        api_key: { type: 'http', scheme: 'bearer' },
        device: {
          type: 'http',
          scheme: 'bearer',
          description: 'Device credential, with a DPoP proof in the DPoP header',
        },
        gateway: { type: 'http', scheme: 'bearer' },
        enrollment_token: { type: 'http', scheme: 'bearer' },
      },
    },
  }
}

function operation(operationId: string, e: Endpoint): Json {
  const guarded = e.access.by !== 'anyone'
  const codes = new Set<ErrorCode>(['internal_error', ...(e.errors ?? [])])
  if (guarded) for (const code of ['unauthorized', 'forbidden', 'rate_limited'] as const) codes.add(code)
  if (e.query || e.body) codes.add('bad_request')
  if (e.body) codes.add('validation_error')
  if (e.params) codes.add('not_found')
  return {
    operationId,
    summary: e.summary,
    'x-access': e.access,
    ...(e.audit && { 'x-audit': e.audit }),
    ...(e.stepUp && { 'x-step-up': e.stepUp }),
    ...(e.access.by === 'anyone' ? { security: [] } : { security: e.access.by.map((kind) => ({ [kind]: [] })) }),
    parameters: [...parameters(e.params, 'path'), ...parameters(e.query, 'query'), ...scopes(e)],
    ...(e.body && { requestBody: { required: true, content: { 'application/json': { schema: e.body } } } }),
    responses: {
      [e.status ?? 200]: { description: 'Success', content: { 'application/json': { schema: e.response } } },
      ...Object.fromEntries(
        [...codes]
          .sort((a, b) => errorStatus[a] - errorStatus[b])
          .map((code) => [
            errorStatus[code],
            { description: code, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
          ]),
      ),
    },
  }
}

const parameters = (schema: TSchema | undefined, where: 'path' | 'query'): Json[] => {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema
  return Object.entries(properties).map(([name, s]) => ({
    name,
    in: where,
    required: required.includes(name),
    schema: s,
  }))
}

const scopes = (e: Endpoint): Json[] =>
  scopeParameters(e).map((name) => ({
    name,
    in: 'query',
    required: false,
    schema: { type: 'string' },
    description: name === 'tenant_id' ? 'For platform roles and the deployment-wide gateway secret' : 'For that secret',
  }))
