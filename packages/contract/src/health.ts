import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, OneOf } from './schema.ts'
import { credentialKinds } from './vocabulary.ts'

export const health = endpoint({
  method: 'GET',
  path: '/healthz',
  summary: 'Liveness',
  access: { by: 'anyone' },
  response: Closed({ status: OneOf(['ok']) }),
})
export const ready = endpoint({
  method: 'GET',
  path: '/readyz',
  summary: 'Readiness: the database answers; 503 while it does not',
  access: { by: 'anyone' },
  unavailable: true,
  response: Closed({ status: OneOf(['ready']) }),
})
export const openapiDocument = endpoint({
  method: 'GET',
  path: '/v1/openapi.json',
  summary: 'This API as OpenAPI 3.1',
  access: { by: credentialKinds, permission: 'own' },
  etag: true,
  response: Type.Object({
    openapi: Type.String(),
    info: Type.Unknown(),
    servers: Type.Unknown(),
    tags: Type.Unknown(),
    paths: Type.Unknown(),
    components: Type.Unknown(),
  }),
})
