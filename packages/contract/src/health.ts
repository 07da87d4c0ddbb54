import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, OneOf } from './schema.ts'
import { credentialKinds } from './vocabulary.ts'

export const health = endpoint({
  method: 'GET',
  path: '/healthz',
  summary: 'Check that the process runs',
  access: { by: 'anyone' },
  response: Closed({ status: OneOf(['ok']) }),
})
export const ready = endpoint({
  method: 'GET',
  path: '/readyz',
  summary: 'Check that the server is ready',
  description: 'The server is ready while the database answers. Otherwise the answer is 503.',
  access: { by: 'anyone' },
  unavailable: true,
  response: Closed({ status: OneOf(['ready']) }),
})
export const openapiDocument = endpoint({
  method: 'GET',
  path: '/v1/openapi.json',
  summary: 'Get this API as an OpenAPI 3.1 document',
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
