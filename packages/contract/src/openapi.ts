import type { Endpoint } from './endpoint.ts'
import { areaOf, areas, operations } from './index.ts'
import { createComponents, type Json } from './openapi-components.ts'
import { createOperations } from './openapi-operation.ts'
import { PolicyDocument } from './policy-document.ts'
import { ErrorBody } from './schema.ts'

const description = `Control plane of a secure-access fleet.

Bodies are closed UTF-8 JSON (\`Content-Type: application/json\`): an unknown field is 422 and named. Ids are TypeIDs; a
malformed, an unknown and another tenant's id are the same 404; a malformed id in a query is 400, and a filter by an id
that names nothing gives an empty list. Times are RFC 3339 in UTC. A list gives \`next_cursor\`
for its next page. HEAD is answered wherever GET is. Every answer has \`X-Request-Id\`, which finds the audit event.
\`RateLimit-Policy\` and \`RateLimit\` are in every answer to a session, an API key, a device or a gateway.`

type OpenApi = { openapi: string; info: Json; servers: Json[]; tags: Json[]; paths: Json; components: Json }

/** Returns the whole API as an OpenAPI 3.1 document: a pure function of the contract. */
export function openapi(serverUrl = '/'): OpenApi {
  const components = createComponents({ PolicyDocument })
  components.schema(ErrorBody)
  const operation = createOperations(components)
  const paths: Record<string, Json> = {}
  for (const [operationId, e] of operations as [string, Endpoint][]) {
    const path = paths[e.path] ?? {}
    paths[e.path] = path
    path[e.method.toLowerCase()] = operation(operationId, e, areaOf(operationId))
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast control plane',
      version: 'v1',
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl, description: 'The deployment that serves this document' }],
    tags: areas.map(({ tag, about }) => ({ name: tag, description: about })),
    paths,
    components: { ...components.all(), securitySchemes },
  }
}

const securitySchemes = {
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-holdfast_session',
    description: 'From signing in; changes also need `Origin` or `Sec-Fetch-Site` of this site',
  },
  api_key: { type: 'http', scheme: 'bearer', description: '`hfk_…`, of one tenant and with one role' },
  device: { type: 'http', scheme: 'bearer', description: 'Device credential, with a DPoP proof (RFC 9449)' },
  gateway: {
    type: 'http',
    scheme: 'bearer',
    description: 'Service secret `hfg_…` of a gateway, or of the deployment together with `tenant_id` and `gateway_id`',
  },
  enrollment_token: { type: 'http', scheme: 'bearer', description: '`hfe_…`, with a DPoP proof of the device key' },
  enrollment_challenge: {
    type: 'http',
    scheme: 'bearer',
    description: '`hfc_…`, given with the identity providers that enroll; with a DPoP proof of the device key',
  },
}
