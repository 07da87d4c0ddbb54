import { type Static, Type } from 'typebox'
import { Closed, Id, Time } from './schema.ts'
import { scimTypes } from './vocabulary.ts'

/** Everything under it uses SCIM 2.0 (RFC 7643, RFC 7644), including refusals of unknown paths. */
export const scimBase = '/v1/scim/v2'
export const scimMediaType = 'application/scim+json'

export const scimUrns = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  serviceProviderConfig: 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig',
  resourceType: 'urn:ietf:params:scim:schemas:core:2.0:ResourceType',
  schema: 'urn:ietf:params:scim:schemas:core:2.0:Schema',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  search: 'urn:ietf:params:scim:api:messages:2.0:SearchRequest',
  error: 'urn:ietf:params:scim:api:messages:2.0:Error',
} as const

/** Attributes of users (RFC 7643) that clients send and that are not stored. */
export const ignoredOfUsers = [
  ...['nickName', 'profileUrl', 'title', 'userType', 'preferredLanguage', 'locale', 'timezone', 'password'],
  ...['phoneNumbers', 'ims', 'photos', 'addresses', 'entitlements', 'roles', 'x509Certificates'],
] as const

/** Most group members in one request, and in one answer. */
export const mostMembers = { given: 20_000, shown: 100_000 } as const
/** Most entries of a page. */
export const mostOfPage = 200

export const ScimError = Closed(
  {
    schemas: Type.Array(Type.String()),
    status: Type.String({ description: 'The HTTP status' }),
    scimType: Type.Optional(Type.Unsafe<(typeof scimTypes)[number]>({ type: 'string', enum: [...scimTypes] })),
    detail: Type.String({ description: 'One sentence for a person' }),
  },
  { title: 'ScimError' },
)
export type ScimError = Static<typeof ScimError>

export const Schemas = Type.Array(Type.String())
const Urns = Type.Array(Type.String({ maxLength: 256 }), { maxItems: 20 })
const Meta = Closed(
  {
    resourceType: Type.Optional(Type.String()),
    created: Type.Optional(Time),
    lastModified: Type.Optional(Time),
    location: Type.Optional(Type.String()),
    version: Type.Optional(Type.String({ description: 'ETag of the resource' })),
  },
  { title: 'ScimMeta' },
)
const text = (maxLength: number) => Type.Optional(Type.String({ maxLength }))
const nameParts = {
  formatted: text(256),
  familyName: text(256),
  givenName: text(256),
  middleName: text(256),
  honorificPrefix: text(256),
  honorificSuffix: text(256),
}
const emailParts = {
  value: Type.Optional(Type.String({ maxLength: 254 })),
  type: text(64),
  primary: Type.Optional(Type.Boolean()),
  display: text(256),
}
/** As clients send it: names in any case, and unknown attributes besides those that are read. */
const Open = <const P extends Parameters<typeof Type.Object>[0]>(properties: P, title: string, description: string) =>
  Type.Object(properties, { additionalProperties: true, title, description })

export const ScimUserInput = Open(
  {
    schemas: Type.Optional(Urns),
    externalId: text(256),
    userName: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Required' })),
    displayName: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 256 })),
    name: Type.Optional(Type.Unknown({ description: `An object with ${Object.keys(nameParts).join(', ')}` })),
    emails: Type.Optional(Type.Unknown({ description: `A list of ${Object.keys(emailParts).join(', ')}` })),
    active: Type.Optional(Type.Unsafe<boolean | string>({ type: ['boolean', 'string'] })),
  },
  'ScimUserInput',
  `Ignored attributes of RFC 7643: ${ignoredOfUsers.join(', ')}, and every extension; read-only attributes are ignored too. Any other name is 400.`,
)
export type ScimUserInput = Static<typeof ScimUserInput>

export const ScimUser = Closed(
  {
    schemas: Schemas,
    id: Id('user'),
    externalId: Type.Optional(Type.String()),
    userName: Type.Optional(Type.String()),
    name: Type.Optional(Closed(nameParts)),
    displayName: Type.Optional(Type.String()),
    emails: Type.Optional(Type.Array(Closed(emailParts))),
    active: Type.Optional(
      Type.Boolean({
        description: 'False also for a user that an administrator suspended. Such a user stays suspended',
      }),
    ),
    groups: Type.Optional(
      Type.Array(
        Closed({
          value: Type.Optional(Id('group')),
          $ref: Type.Optional(Type.String()),
          display: Type.Optional(Type.String()),
          type: Type.Optional(Type.String()),
        }),
      ),
    ),
    meta: Type.Optional(Meta),
  },
  { title: 'ScimUser' },
)
export type ScimUser = Static<typeof ScimUser>

const Member = Open(
  { value: Type.Optional(Type.String({ maxLength: 64 })) },
  'ScimMember',
  'The id of a user of this directory; `type`, `display` and `$ref` are ignored',
)
export const ScimGroupInput = Open(
  {
    schemas: Type.Optional(Urns),
    externalId: text(256),
    displayName: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Required' })),
    members: Type.Optional(Type.Array(Member, { maxItems: mostMembers.given })),
  },
  'ScimGroupInput',
  'Extensions and read-only attributes are ignored. The answer to any other name is 400',
)
export type ScimGroupInput = Static<typeof ScimGroupInput>

export const ScimGroup = Closed(
  {
    schemas: Schemas,
    id: Id('group'),
    externalId: Type.Optional(Type.String()),
    displayName: Type.Optional(Type.String()),
    members: Type.Optional(
      Type.Array(
        Closed({
          value: Type.Optional(Id('user')),
          $ref: Type.Optional(Type.String()),
          type: Type.Optional(Type.String()),
        }),
      ),
    ),
    meta: Type.Optional(Meta),
  },
  { title: 'ScimGroup' },
)
export type ScimGroup = Static<typeof ScimGroup>

export const ScimPatch = Open(
  {
    schemas: Type.Optional(Urns),
    Operations: Type.Optional(
      Type.Array(
        Type.Object(
          {
            op: Type.Optional(
              Type.String({ maxLength: 16, description: '`add`, `replace` or `remove`, in upper or lower case' }),
            ),
            path: Type.Optional(Type.String({ maxLength: 1024 })),
            value: Type.Optional(Type.Unknown()),
          },
          { additionalProperties: true },
        ),
        { maxItems: 1000, description: 'Required' },
      ),
    ),
  },
  'ScimPatch',
  'Operations of RFC 7644 §3.5.2, and the forms that Entra ID and Okta send',
)
export type ScimPatch = Static<typeof ScimPatch>

/** A user or a group, as a search over both returns them. */
export const ScimEntry = Type.Union([ScimUser, ScimGroup], { title: 'ScimEntry' })

const names = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 100, description }))
/** Query parameters of a list. */
export const page = {
  filter: Type.Optional(Type.String({ maxLength: 4096, description: 'Filter expression of SCIM (RFC 7644 §3.4.2.2)' })),
  startIndex: Type.Optional(
    Type.Integer({ description: 'Number of the first entry of the page, counted from 1. Default: 1' }),
  ),
  count: Type.Optional(Type.Integer({ description: `Entries a page, ${mostOfPage} at most; default: 100` })),
}
export const ScimSearch = Closed(
  {
    schemas: Type.Optional(Urns),
    ...page,
    attributes: names('Only these'),
    excludedAttributes: names('All but these'),
  },
  { title: 'ScimSearch', description: 'Search request (RFC 7644 §3.4.3)' },
)
export type ScimSearch = Static<typeof ScimSearch>

export const Listed = <const S extends typeof ScimUser | typeof ScimGroup | typeof ScimEntry>(item: S, title: string) =>
  Closed(
    {
      schemas: Schemas,
      totalResults: Type.Integer(),
      startIndex: Type.Integer(),
      itemsPerPage: Type.Integer(),
      Resources: Type.Array(item),
    },
    { title },
  )

export const speaksScim = { protocol: 'scim', access: { by: ['api_key'], permission: 'directory:sync' } } as const
