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
      'Whether machines without a browser enroll with it by the device authorization grant (RFC 8628): default: off; approval: they always wait for approval; on. Risk: a person can be tricked into approving the machine of an attacker',
  }),
}
const providerFields = {
  name: Name,
  enabled: Type.Boolean({
    description: 'A disabled provider opens no session and enrolls no device; disabling it ends its sessions',
  }),
  sign_in: Type.Boolean({ description: 'Whether administrators sign in with it' }),
  enrollment: Type.Boolean({ description: 'Whether it enrolls devices' }),
  requires_approval: Type.Boolean({ description: 'Whether devices that it enrolls wait for approval' }),
  max_devices_per_user: Nullable(
    Type.Integer({ minimum: 1, maximum: 10_000, description: 'With as many devices a user enrolls no other by it' }),
  ),
  provisioning: OneOf(['none', 'create'], {
    description:
      'A person without a linked user is refused, or gets a new user, without a role unless a mapping gives one. To enable creation, or to change the identity settings of such a provider, you need users:write. Users are never linked by name or mail address',
  }),
  claims: Closed(
    { username: ClaimName, email: ClaimName, display_name: ClaimName, groups: ClaimName },
    { description: 'Names at the provider: claims of OpenID Connect, or attributes of SAML' },
  ),
  group_mappings: Type.Array(Closed({ value: ClaimValue, group_id: Id('group') }), {
    maxItems: 200,
    description:
      'Users whom this provider made are in exactly those of these groups that their groups claim says. If there is one, changes of the identity settings of the provider need groups:write',
  }),
  role_mappings: Type.Array(Closed({ value: ClaimValue, role: OneOf(roleNames) }), {
    maxItems: 50,
    description:
      'Likewise for roles. If there is one, changes of the identity settings of the provider need rbac:write and all permissions of these roles',
  }),
}
const Oidc = Closed({
  ...oidcFields,
  client_secret_set: Type.Boolean(),
  redirect_uri: Type.String({ description: 'To register with the provider' }),
  backchannel_logout_uri: Type.String({
    description: 'To register with the provider, where it has OpenID Connect Back-Channel Logout',
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

const clientSecret = SecretToKeep(1024, 'Stored encrypted and never shown; absent: as it was; null: a public client')
const { issuer, client_id, ...optionalOidc } = oidcFields
const { claims, ...otherFields } = providerFields
const settings = { read: 'settings:read', write: 'settings:write' } as const
const params = Closed({ provider_id: Id('identity_provider') })

export const listIdentityProviders = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/providers',
  summary: 'List identity providers',
  access: { by: ['session', 'api_key'], permission: settings.read },
  query: ListQuery({}, ['name', 'created_at'] as const),
  response: List(IdentityProvider),
})
export const createIdentityProvider = endpoint({
  method: 'POST',
  path: '/v1/admin/settings/providers',
  summary: 'Create an identity provider; the discovery or metadata of one that is enabled is read and checked first',
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
          OneOf(samlPresets, { description: 'Product whose attribute names are used for claims that are not given' }),
        ),
      }),
    ),
  }),
  response: IdentityProvider,
})
export const getIdentityProvider = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/providers/{provider_id}',
  summary: 'One identity provider',
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
  summary:
    'Replace the settings of an identity provider; the answer of a GET may be sent back whole. 403 if a linked person has permissions that the caller does not have, and the change affects the sign-in of that person',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'identity_provider.updated',
  stepUp: {},
  costly: true,
  params,
  query: Closed({
    end_links_of_stronger: Type.Optional(
      Type.Boolean({
        description:
          'Instead of refusing the change: removes the links of people with permissions that the caller does not have, and ends the sessions that the provider opened for them',
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
  summary: 'Delete an identity provider: its links go, and the sessions that it opened end',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'identity_provider.deleted',
  stepUp: {},
  params,
  response: Closed({ changed: Type.Boolean() }),
  ifMatch: true,
})
export const testIdentityProvider = endpoint({
  method: 'POST',
  path: '/v1/admin/settings/providers/{provider_id}/test',
  summary: 'Read the discovery and keys of the provider, or its metadata, again, and return the result',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'identity_provider.tested',
  costly: true,
  params,
  response: Closed({
    ok: Type.Boolean(),
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
  summary: 'With which accounts of which identity providers a user signs in',
  access: { by: ['session', 'api_key'], permission: 'users:read' },
  params: userParams,
  response: Closed({ items: Type.Array(IdentityLink) }),
})
export const linkUserIdentity = endpoint({
  ...link,
  method: 'POST',
  path: '/v1/admin/users/{user_id}/identities',
  summary: 'Let a user sign in with an account of an identity provider',
  status: 201,
  stepUp: {},
  body: Closed({
    provider_id: Id('identity_provider'),
    subject: Type.String({ minLength: 1, maxLength: 255 }),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ identity: IdentityLink, changed: Type.Boolean() }),
})
export const unlinkUserIdentity = endpoint({
  ...link,
  method: 'POST',
  path: '/v1/admin/users/{user_id}/identities/unlink',
  summary: 'End such a link; the sessions of the user that this provider opened end',
  body: Closed({
    provider_id: Id('identity_provider'),
    subject: Type.String({ minLength: 1, maxLength: 255 }),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ changed: Type.Boolean() }),
})
