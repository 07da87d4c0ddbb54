import type { ScimResourceType, ScimSchema } from '@holdfast/contract/scim-discovery'
import { mostOfPage, scimUrns } from '@holdfast/contract/scim-shapes'
import type { Handlers } from '../../../http/handlers.ts'
import { fail } from '../../../kernel/app-error.ts'
import { nameParts } from './attributes.ts'
import type { Locate } from './view.ts'

type Attribute = ScimSchema['attributes'][number]
type Part = NonNullable<Attribute['subAttributes']>[number]
type Told = Partial<Omit<Attribute, 'name' | 'description'>>

const text = (name: string, description: string, more: Told = {}): Part => ({
  name,
  type: 'string',
  multiValued: false,
  description,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
})
const booleanPart = (name: string, description: string): Part => ({
  name,
  type: 'boolean',
  multiValued: false,
  description,
  required: false,
  mutability: 'readWrite',
  returned: 'default',
})
const complex = (name: string, description: string, subAttributes: Part[], more: Told = {}): Attribute => ({
  name,
  type: 'complex',
  multiValued: false,
  description,
  required: false,
  mutability: 'readWrite',
  returned: 'default',
  subAttributes,
  ...more,
})
const externalId = text('externalId', 'Identifier that the client gives; unique in its directory', {
  caseExact: true,
  uniqueness: 'server',
})

const user: Omit<ScimSchema, 'meta' | 'schemas'> = {
  id: scimUrns.user,
  name: 'User',
  description: 'A user of the directory',
  attributes: [
    text('userName', 'Name for sign-in; unique in the tenant', { required: true, uniqueness: 'server' }),
    externalId,
    complex(
      'name',
      'Parts of the name of the user',
      nameParts.map((part) => text(part, `The part ${part}`)),
    ),
    text('displayName', 'Name for display'),
    complex(
      'emails',
      'Mail addresses. The primary one counts, otherwise the one of type work, otherwise the first. It is unique in the tenant',
      [
        text('value', 'The address'),
        text('type', 'Such as work', { canonicalValues: ['work', 'home', 'other'] }),
        booleanPart('primary', 'True for the primary address'),
        text('display', 'Name for display'),
      ],
      { multiValued: true },
    ),
    {
      ...booleanPart(
        'active',
        'False suspends the user: sessions, devices and VPN sessions end within a second. Default: true',
      ),
      required: true,
    },
    complex(
      'groups',
      'Groups of the directory that contain the user',
      [
        text('value', 'The id of the group', { mutability: 'readOnly' }),
        text('$ref', 'URL of the group', { type: 'reference', referenceTypes: ['Group'], mutability: 'readOnly' }),
        text('display', 'Its name', { mutability: 'readOnly' }),
        text('type', 'Always direct', { mutability: 'readOnly', canonicalValues: ['direct'] }),
      ],
      { multiValued: true, mutability: 'readOnly' },
    ),
  ],
}
const group: Omit<ScimSchema, 'meta' | 'schemas'> = {
  id: scimUrns.group,
  name: 'Group',
  description: 'A group of the directory',
  attributes: [
    text('displayName', 'Its name; unique in the tenant', { required: true, uniqueness: 'server' }),
    externalId,
    complex(
      'members',
      'Members: users of the directory',
      [
        text('value', 'The id of the user', { mutability: 'immutable' }),
        text('$ref', 'URL of the user', { type: 'reference', referenceTypes: ['User'], mutability: 'immutable' }),
        text('type', 'Always User', { mutability: 'immutable', canonicalValues: ['User'] }),
      ],
      { multiValued: true },
    ),
  ],
}

const listOf = <T>(Resources: T[]) => ({
  schemas: [scimUrns.list],
  totalResults: Resources.length,
  startIndex: 1,
  itemsPerPage: Resources.length,
  Resources,
})

/** Supported parts of SCIM, the same for every caller. */
export function discoveryHandlers(locate: Locate) {
  const schemas = [user, group].map(
    (schema): ScimSchema => ({
      schemas: [scimUrns.schema],
      ...schema,
      meta: { resourceType: 'Schema', location: locate(`Schemas/${schema.id}`) },
    }),
  )
  const types = [user, group].map(
    ({ id, name, description }): ScimResourceType => ({
      schemas: [scimUrns.resourceType],
      id: name,
      name,
      description,
      endpoint: `/${name}s`,
      schema: id,
      meta: { resourceType: 'ResourceType', location: locate(`ResourceTypes/${name}`) },
    }),
  )
  const config = {
    schemas: [scimUrns.serviceProviderConfig],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: mostOfPage },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'API key',
        description: 'An API key of the directory as a bearer token',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: locate('ServiceProviderConfig') },
  }
  const missing = (what: string): never => fail('not_found', `no such ${what}`)
  return {
    getScimServiceProviderConfig: () => config,
    listScimResourceTypes: () => listOf(types),
    getScimResourceType: ({ params }) =>
      types.find(({ name }) => name === params.resource_type) ?? missing('resource type'),
    listScimSchemas: () => listOf(schemas),
    getScimSchema: ({ params }) => schemas.find(({ id }) => id === params.schema_urn) ?? missing('schema'),
  } satisfies Partial<Handlers>
}
