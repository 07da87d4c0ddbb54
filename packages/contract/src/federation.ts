import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { metadataXml, Saml, SamlFound, samlFields } from './federation-saml.ts'
import { namedObjects } from './limits.ts'
import {
  Closed,
  Count,
  Id,
  List,
  ListQuery,
  Name,
  Nullable,
  OneOf,
  Partial,
  Reason,
  SecretToKeep,
  Shown,
  Time,
  WasChanged,
} from './schema.ts'
import { deviceCodeUses, identityProviderKinds, roleNames, samlPresets } from './vocabulary.ts'

const ClientId = Type.String({ minLength: 1, maxLength: 256 })
const ClaimName = Type.String({ minLength: 1, maxLength: 256 })
const ClaimValue = Type.String({ minLength: 1, maxLength: 1024 })

const oidcFields = {
  issuer: Type.String({
    minLength: 1,
    maxLength: 512,
    examples: ['https://login.example.com/realms/people'],
    description:
      'Exactly as the provider writes it (OpenID Connect Discovery 1.0). keycloak: {base}/realms/{realm}; entra_id: https://login.microsoftonline.com/{directory id}/v2.0; okta: the organisation, or …/oauth2/{authorization server}',
  }),
  client_id: ClientId,
  scopes: Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$', maxLength: 128 }), {
    maxItems: 32,
    uniqueItems: true,
    description: 'Requested scopes; openid is always included',
  }),
  mobile_client_ids: Type.Array(ClientId, {
    maxItems: 16,
    uniqueItems: true,
    description: 'Client ids of the applications whose ID tokens enroll devices',
  }),
  device_code: OneOf(deviceCodeUses, {
    description:
      'Enrollment of machines without a browser by the device authorization grant (RFC 8628). `off` (default), `on`, or `approval`: such machines always wait for approval. Risk: an attacker can trick a person into approving their machine',
  }),
}
const providerFields = {
  name: Name,
  enabled: Type.Boolean({
    description: 'A disabled provider opens no session and enrolls no device; disabling it ends its sessions',
  }),
  sign_in: Type.Boolean({ description: 'True: administrators sign in with this provider' }),
  enrollment: Type.Boolean({ description: 'True: this provider enrolls devices' }),
  requires_approval: Type.Boolean({ description: 'True: devices that this provider enrolls wait for approval' }),
  max_devices_per_user: Nullable(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'Number of devices of a user from which on this provider enrolls no further one; null: no limit',
    }),
  ),
  provisioning: OneOf(['none', 'create'], {
    description:
      '`none`: a person without a linked user is refused. `create`: such a person gets a new user, with the roles of the mappings only. `create` needs `users:write`, also for changes of the identity settings. Users are never linked by name or mail address',
  }),
  claims: Closed(
    { username: ClaimName, email: ClaimName, display_name: ClaimName, groups: ClaimName },
    { description: 'Names at the provider: claims of OpenID Connect, or attributes of SAML' },
  ),
  group_mappings: Type.Array(Closed({ value: ClaimValue, group_id: Id('group') }), {
    maxItems: 200,
    description:
      'Groups by values of the groups claim. A user that this provider created is in exactly the mapped groups of their claim. With a mapping, changes of the identity settings need `groups:write`',
  }),
  role_mappings: Type.Array(Closed({ value: ClaimValue, role: OneOf(roleNames) }), {
    maxItems: 50,
    description:
      'Roles by values of the groups claim, likewise. With a mapping, changes of the identity settings need `rbac:write` and all permissions of these roles',
  }),
}
const Oidc = Closed({
  ...oidcFields,
  client_secret_set: Type.Boolean({ description: 'True: a client secret is stored' }),
  redirect_uri: Type.String({ description: 'Redirect URI to register with the provider' }),
  backchannel_logout_uri: Type.String({
    description: 'Logout URI to register with a provider that has OpenID Connect Back-Channel Logout',
  }),
})
export const IdentityProvider = Closed(
  {
    provider_id: Id('identity_provider'),
    tenant_id: Id('tenant'),
    kind: OneOf(identityProviderKinds),
    ...providerFields,
    oidc: Nullable(Oidc),
    saml: Nullable(Saml),
    linked_users: Count,
    created_at: Time,
    updated_at: Time,
  },
  { title: 'IdentityProvider' },
)
export type IdentityProvider = Static<typeof IdentityProvider>

const clientSecret = SecretToKeep(
  1024,
  'Client secret, stored encrypted and never shown. Absent: unchanged. null: a public client',
)
const { issuer, client_id, ...optionalOidc } = oidcFields
const { claims, ...otherFields } = providerFields
const settings = { read: 'settings:read', write: 'settings:write' } as const
const params = Closed({ provider_id: Id('identity_provider') })

export const listIdentityProviders = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/providers',
  summary: 'List identity providers',
  access: { by: ['session', 'api_key'], permission: settings.read },
  query: ListQuery({}, ['name', 'created_at'] as const, 'name'),
  response: List(IdentityProvider),
})
export const createIdentityProvider = endpoint({
  method: 'POST',
  path: '/v1/admin/settings/providers',
  summary: 'Create an identity provider',
  description: 'The server first reads and checks the discovery document or the metadata of an enabled provider.',
  access: { by: ['session', 'api_key'], permission: settings.write },
  fieldPermissions: { group_mappings: 'groups:write' },
  audit: 'identity_provider.created',
  status: 201,
  stepUp: {},
  costly: true,
  body: Closed({
    ...Partial(Closed(otherFields)).properties,
    claims: Type.Optional(Partial(claims)),
    kind: OneOf(identityProviderKinds),
    name: Name,
    oidc: Type.Optional(
      Closed({ issuer, client_id, client_secret: clientSecret, ...Partial(Closed(optionalOidc)).properties }),
    ),
    saml: Type.Optional(
      Closed({
        ...Partial(Closed(samlFields)).properties,
        metadata_xml: metadataXml,
        preset: Type.Optional(
          OneOf(samlPresets, { description: 'Product whose attribute names are the defaults of the claims' }),
        ),
      }),
    ),
  }),
  response: IdentityProvider,
})
export const getIdentityProvider = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/providers/{provider_id}',
  summary: 'Get an identity provider',
  access: { by: ['session', 'api_key'], permission: settings.read },
  params,
  response: IdentityProvider,
  etag: true,
})
/** Account links and sessions that a change of a provider ended, of people with more rights than the actor. */
export const EndedLinks = Closed(
  {
    users: Count,
    links: Count,
    sessions: Count,
    user_ids: Type.Array(Id('user'), { description: `The first ${namedObjects} of them` }),
  },
  { title: 'EndedLinks' },
)
export const updateIdentityProvider = endpoint({
  method: 'PUT',
  path: '/v1/admin/settings/providers/{provider_id}',
  summary: 'Replace an identity provider',
  description:
    'The body of a GET may be sent back unchanged. The answer is 403 if the change affects the sign-in of a linked person who has permissions that the caller lacks.',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'identity_provider.updated',
  stepUp: {},
  costly: true,
  params,
  query: Closed({
    end_links_of_stronger: Type.Optional(
      Type.Boolean({
        description:
          'true: removes the links of people with permissions that the caller lacks, and ends their sessions from this provider. false (default): such a change is refused',
      }),
    ),
  }),
  body: Closed({
    ...Shown(IdentityProvider),
    ...providerFields,
    oidc: Type.Optional(Nullable(Closed({ ...Shown(Oidc), ...oidcFields, client_secret: clientSecret }))),
    saml: Type.Optional(Nullable(Closed({ ...Shown(Saml), ...samlFields, metadata_xml: metadataXml }))),
  }),
  response: Closed(
    { ...IdentityProvider.properties, ended_links: Type.Optional(EndedLinks) },
    { title: 'ChangedIdentityProvider' },
  ),
  ifMatch: true,
})
export const deleteIdentityProvider = endpoint({
  method: 'DELETE',
  path: '/v1/admin/settings/providers/{provider_id}',
  summary: 'Delete an identity provider',
  description: 'Its links to users are removed, and the sessions that it opened end.',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'identity_provider.deleted',
  stepUp: {},
  params,
  response: Closed({ changed: WasChanged }),
  ifMatch: true,
})
export const testIdentityProvider = endpoint({
  method: 'POST',
  path: '/v1/admin/settings/providers/{provider_id}/test',
  summary: 'Test an identity provider',
  description:
    'The server reads the discovery document and the keys again, or the metadata. The answer contains the result.',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'identity_provider.tested',
  costly: true,
  params,
  response: Closed({
    ok: Type.Boolean({ description: 'True: the test succeeded' }),
    problem: Nullable(Closed({ reason: Type.String(), detail: Type.String() })),
    found: Nullable(
      Closed({
        authorization_endpoint: Type.String(),
        token_endpoint: Type.String(),
        device_authorization_endpoint: Nullable(Type.String()),
        jwks_uri: Type.String(),
        keys: Count,
        algorithms: Type.Array(Type.String()),
      }),
    ),
    saml: Nullable(SamlFound),
  }),
})

export const IdentityLink = Closed(
  {
    provider_id: Id('identity_provider'),
    provider_name: Name,
    issuer: Type.String(),
    subject: Type.String({ description: 'The sub of the ID token; entra_id: the oid; saml: the NameID' }),
    linked_at: Time,
    last_login_at: Nullable(Time),
  },
  { title: 'IdentityLink' },
)
const userParams = Closed({ user_id: Id('user') })
const link = {
  audit: 'user.changed',
  access: { by: ['session', 'api_key'], permission: 'credentials:write' },
  params: userParams,
} as const

export const listUserIdentities = endpoint({
  method: 'GET',
  path: '/v1/admin/users/{user_id}/identities',
  summary: 'List the linked accounts of a user',
  access: { by: ['session', 'api_key'], permission: 'users:read' },
  params: userParams,
  response: Closed({ items: Type.Array(IdentityLink) }),
})
export const linkUserIdentity = endpoint({
  ...link,
  method: 'POST',
  path: '/v1/admin/users/{user_id}/identities',
  summary: 'Link a user to an account of a provider',
  description: 'The user can then sign in with that account of the identity provider.',
  status: 201,
  stepUp: {},
  body: Closed({
    provider_id: Id('identity_provider'),
    subject: Type.String({ minLength: 1, maxLength: 255 }),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ identity: IdentityLink, changed: WasChanged }),
})
export const unlinkUserIdentity = endpoint({
  ...link,
  method: 'POST',
  path: '/v1/admin/users/{user_id}/identities/unlink',
  summary: 'Unlink a user from an account of a provider',
  description: 'The sessions of the user that this provider opened end.',
  body: Closed({
    provider_id: Id('identity_provider'),
    subject: Type.String({ minLength: 1, maxLength: 255 }),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ changed: WasChanged }),
})
