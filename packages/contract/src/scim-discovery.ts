import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed } from './schema.ts'
import { Schemas, speaksScim } from './scim-shapes.ts'

const Supported = Closed({ supported: Type.Boolean() })
const OfServer = Type.Optional(Closed({ resourceType: Type.String(), location: Type.String() }))
const ScimServiceProviderConfig = Closed(
  {
    schemas: Schemas,
    documentationUri: Type.Optional(Type.String()),
    patch: Supported,
    bulk: Closed({ supported: Type.Boolean(), maxOperations: Type.Integer(), maxPayloadSize: Type.Integer() }),
    filter: Closed({ supported: Type.Boolean(), maxResults: Type.Integer() }),
    changePassword: Supported,
    sort: Supported,
    etag: Supported,
    authenticationSchemes: Type.Array(
      Closed({
        type: Type.String(),
        name: Type.String(),
        description: Type.String(),
        specUri: Type.String(),
        primary: Type.Boolean(),
      }),
    ),
    meta: OfServer,
  },
  { title: 'ScimServiceProviderConfig' },
)
const ScimResourceType = Closed(
  {
    schemas: Schemas,
    id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    endpoint: Type.String(),
    schema: Type.String(),
    meta: OfServer,
  },
  { title: 'ScimResourceType' },
)
const attribute = {
  name: Type.String(),
  type: Type.String(),
  multiValued: Type.Boolean(),
  description: Type.String(),
  required: Type.Boolean(),
  caseExact: Type.Optional(Type.Boolean()),
  mutability: Type.String(),
  returned: Type.String(),
  uniqueness: Type.Optional(Type.String()),
  referenceTypes: Type.Optional(Type.Array(Type.String())),
  canonicalValues: Type.Optional(Type.Array(Type.String())),
}
const ScimSchema = Closed(
  {
    schemas: Schemas,
    id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    attributes: Type.Array(
      Closed({ ...attribute, subAttributes: Type.Optional(Type.Array(Closed(attribute))) }, { title: 'ScimAttribute' }),
    ),
    meta: OfServer,
  },
  { title: 'ScimSchema' },
)
export type ScimSchema = Static<typeof ScimSchema>
export type ScimResourceType = Static<typeof ScimResourceType>
const listOf = <const S extends typeof ScimSchema | typeof ScimResourceType>(item: S) =>
  Closed({
    schemas: Schemas,
    totalResults: Type.Integer(),
    startIndex: Type.Integer(),
    itemsPerPage: Type.Integer(),
    Resources: Type.Array(item),
  })

export const getScimServiceProviderConfig = endpoint({
  ...speaksScim,
  method: 'GET',
  path: '/v1/scim/v2/ServiceProviderConfig',
  summary: 'Get the supported features of SCIM',
  response: ScimServiceProviderConfig,
})
export const listScimResourceTypes = endpoint({
  ...speaksScim,
  method: 'GET',
  path: '/v1/scim/v2/ResourceTypes',
  summary: 'List SCIM resource types',
  response: listOf(ScimResourceType),
})
export const getScimResourceType = endpoint({
  ...speaksScim,
  method: 'GET',
  path: '/v1/scim/v2/ResourceTypes/{resource_type}',
  summary: 'Get a SCIM resource type',
  params: Closed({ resource_type: Type.String({ maxLength: 64 }) }),
  response: ScimResourceType,
})
export const listScimSchemas = endpoint({
  ...speaksScim,
  method: 'GET',
  path: '/v1/scim/v2/Schemas',
  summary: 'List SCIM schemas',
  response: listOf(ScimSchema),
})
export const getScimSchema = endpoint({
  ...speaksScim,
  method: 'GET',
  path: '/v1/scim/v2/Schemas/{schema_urn}',
  summary: 'Get a SCIM schema',
  params: Closed({ schema_urn: Type.String({ maxLength: 256 }) }),
  response: ScimSchema,
})
