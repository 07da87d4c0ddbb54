import type { Endpoint } from './endpoint.ts'
import { areaOf, areas, operations } from './index.ts'
import { createComponents, type Json } from './openapi-components.ts'
import { createOperations } from './openapi-operation.ts'
import { PolicyDocument } from './policy-document.ts'
import { ErrorBody } from './schema.ts'

const description = `Control plane of a secure-access fleet.

- **Bodies** are UTF-8 JSON (\`Content-Type: application/json\`). A body with an unknown field gets 422, which names the field.
- **Ids** are TypeIDs. A malformed id, an unknown id and an id of another tenant get the same 404. In a query a malformed
  id gets 400, and an unknown id gives an empty list.
- **Times** are RFC 3339 in UTC.
- **Lists** have pages. \`next_cursor\` is the \`cursor\` of the next page.
- **HEAD** is answered wherever GET is.
- **Every answer** has \`X-Request-Id\`. Search the audit log by it.
- **Rate limits**: every answer to a session, an API key, a device or a gateway has \`RateLimit-Policy\` and \`RateLimit\`.`

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
    description: 'Cookie of a sign-in. Changes also need `Origin` or `Sec-Fetch-Site` of this site',
  },
  api_key: { type: 'http', scheme: 'bearer', description: 'API key `hfk_…`. It has one tenant and one role' },
  device: { type: 'http', scheme: 'bearer', description: 'Device credential, with a DPoP proof (RFC 9449)' },
  gateway: {
    type: 'http',
    scheme: 'bearer',
    description: 'Service secret `hfg_…` of a gateway, or of the deployment together with `tenant_id` and `gateway_id`',
  },
  enrollment_token: {
    type: 'http',
    scheme: 'bearer',
    description: 'Enrollment token `hfe_…`, with a DPoP proof of the device key',
  },
  enrollment_challenge: {
    type: 'http',
    scheme: 'bearer',
    description:
      'Enrollment challenge `hfc_…`, with a DPoP proof of the device key. The list of identity providers for enrollment returns it',
  },
}
