import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import {
  Credential,
  challenge,
  EnrollmentAttempt,
  EnrollmentProvider,
  NewDevice,
  ofCode,
  Platform,
  PublicKey,
  platforms,
  Waits,
} from './enrollment-fields.ts'
import { InstallLines } from './enrollment-settings.ts'
import { challengeMinutes, idTokenMinutes } from './limits.ts'
import {
  Closed,
  Count,
  expiresInSeconds,
  Id,
  Ids,
  List,
  ListQuery,
  Name,
  NameOf,
  NamesOf,
  Nullable,
  OneOf,
  Prefix,
  Reason,
  Secret,
  Tags,
  Time,
  WireguardKey,
} from './schema.ts'
import { DeviceArchitecture } from './updates.ts'

export { Platform, platforms }

const tokenStatus = OneOf(['active', 'exhausted', 'expired', 'revoked'])

export const EnrollmentToken = Closed(
  {
    token_id: Id('enrollment_token'),
    tenant_id: Id('tenant'),
    name: Type.String(),
    kind: OneOf(['enroll', 'bootstrap']),
    status: tokenStatus,
    hint: Type.String({ description: 'The last four characters' }),
    max_uses: Type.Integer({ description: '0 is unlimited' }),
    uses: Count,
    expires_at: Time,
    user_id: Nullable(Id('user')),
    user_name: NameOf('user (its username)'),
    group_ids: Type.Array(Id('group')),
    group_names: NamesOf('groups'),
    tags: Type.Array(Type.String()),
    platforms: Type.Array(Platform),
    allowed_cidrs: Type.Array(Type.String()),
    requires_approval: Type.Boolean(),
    ephemeral_seconds: Nullable(Type.Integer()),
    max_devices_per_user: Nullable(Type.Integer()),
    created_by: Nullable(Type.String()),
    created_by_name: NameOf('user or API key'),
    created_at: Time,
    last_used_at: Nullable(Time),
    revoked_at: Nullable(Time),
    last_attempt: Nullable(EnrollmentAttempt),
    attempts_refused: Count,
  },
  { title: 'EnrollmentToken' },
)

export const generateToken = endpoint({
  method: 'POST',
  path: '/v1/admin/tokens/generate',
  summary: 'Generate an enrollment token; its secret appears only in this answer',
  access: { by: ['session', 'api_key'], permission: 'enrollment_tokens:write' },
  fieldPermissions: { group_ids: 'groups:write', tags: 'devices:write' },
  audit: 'enrollment_token.created',
  status: 201,
  body: Closed({
    name: Type.Optional(Name),
    kind: Type.Optional(OneOf(['enroll', 'bootstrap'])),
    max_uses: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'Default: 1; 0 is unlimited' }),
    ),
    expires_in_seconds: expiresInSeconds(90, 'default: 24 hours'),
    user_id: Type.Optional(Id('user')),
    group_ids: Type.Optional(Ids('group')),
    tags: Type.Optional(Tags),
    platforms: Type.Optional(Type.Array(Platform, { maxItems: 6, uniqueItems: true })),
    allowed_cidrs: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
    requires_approval: Type.Optional(Type.Boolean()),
    ephemeral_seconds: Type.Optional(
      Type.Integer({
        minimum: 60,
        maximum: 90 * 86_400,
        description: 'Time without contact after which its devices are revoked',
      }),
    ),
    max_devices_per_user: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  }),
  response: Closed({ enrollment_token: EnrollmentToken, secret: Secret, install_lines: InstallLines }),
})

export const listTokens = endpoint({
  method: 'GET',
  path: '/v1/admin/tokens',
  summary: 'List enrollment tokens',
  access: { by: ['session', 'api_key'], permission: 'enrollment_tokens:read' },
  query: ListQuery({ status: Type.Optional(tokenStatus), q: Prefix }, ['created_at', 'expires_at', 'name'] as const),
  response: List(EnrollmentToken),
})

export const getToken = endpoint({
  method: 'GET',
  path: '/v1/admin/tokens/{token_id}',
  summary: 'One enrollment token',
  access: { by: ['session', 'api_key'], permission: 'enrollment_tokens:read' },
  params: Closed({ token_id: Id('enrollment_token') }),
  response: EnrollmentToken,
  etag: true,
})

export const revokeToken = endpoint({
  method: 'POST',
  path: '/v1/admin/tokens/{token_id}/revoke',
  summary: 'Revoke an enrollment token',
  access: { by: ['session', 'api_key'], permission: 'enrollment_tokens:write' },
  audit: 'enrollment_token.revoked',
  params: Closed({ token_id: Id('enrollment_token') }),
  body: Closed({ reason: Type.Optional(Reason) }),
  response: Closed({ enrollment_token: EnrollmentToken, changed: Type.Boolean() }),
  ifMatch: true,
})

export const enroll = endpoint({
  method: 'POST',
  path: '/v1/enroll',
  summary: 'Enroll a device with an enrollment token, and prove its key (DPoP header)',
  access: { by: ['enrollment_token'], permission: 'own' },
  audit: 'device.enrolled',
  status: 201,
  body: Closed({
    enrollment_token: Type.Optional(
      Type.String({ maxLength: 128, description: 'For clients that cannot send Authorization' }),
    ),
    device: NewDevice,
    public_key: Type.Optional(PublicKey),
  }),
  response: Closed(Credential),
  errors: ['entitlement_exceeded'],
})

export const listEnrollmentProviders = endpoint({
  method: 'GET',
  path: '/v1/mobile/auth/oidc/providers',
  summary: 'The identity providers for device enrollment, and a challenge for one enrollment',
  access: { by: ['enrollment_token', 'device', 'session', 'api_key'], permission: 'own' },
  response: Closed({
    items: Type.Array(EnrollmentProvider),
    challenge: Type.String({ description: `Valid once, for ${challengeMinutes} minutes` }),
    challenge_expires_at: Time,
  }),
})

/** Common properties of every enrollment by an identity provider. */
const enrolls = {
  access: { by: ['enrollment_challenge'], permission: 'own' },
  audit: 'device.enrolled',
  status: 201,
  response: Closed(Credential),
  errors: ['entitlement_exceeded'],
} as const
export const enrollByOidc = endpoint({
  ...enrolls,
  method: 'POST',
  path: '/v1/enroll/oidc',
  summary: 'Enroll a device for the person who signs in at an identity provider, and prove its key (DPoP header)',
  body: Closed({
    challenge,
    provider_id: Id('identity_provider'),
    id_token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 24_576,
        description: `For one of client_ids, issued at most ${idTokenMinutes} minutes ago, with the nonce base64url(SHA-256(challenge "." jkt)), where jkt is the RFC 7638 thumbprint of the device key`,
      }),
    ),
    code: ofCode('Instead of id_token: an authorization code of a flow with that nonce and with PKCE', 2048),
    code_verifier: ofCode('Of PKCE (RFC 7636)', 128),
    redirect_uri: ofCode('The redirect_uri that received the code', 512),
    client_id: ofCode('The client id that received the code, one of client_ids', 256),
    iss: ofCode('The iss parameter of the authorization response (RFC 9207)', 512),
    device: NewDevice,
    public_key: Type.Optional(PublicKey),
  }),
})

export const beginDeviceCode = endpoint({
  method: 'POST',
  path: '/v1/enroll/device-code',
  summary:
    'Begin a device authorization grant (RFC 8628) for a machine without a browser, and prove its key (DPoP header); a person approves it at the identity provider',
  access: { by: ['enrollment_challenge'], permission: 'own' },
  audit: 'device_grant.created',
  status: 201,
  body: Closed({ challenge, provider_id: Id('identity_provider'), public_key: Type.Optional(PublicKey) }),
  response: Closed({
    user_code: Type.String({ description: 'Code that the person enters at verification_uri' }),
    verification_uri: Type.String(),
    verification_uri_complete: Nullable(Type.String({ description: 'The same with the code in it' })),
    ...Waits,
  }),
})
export const deviceCodeStatus = endpoint({
  method: 'GET',
  path: '/v1/enroll/device-code',
  summary:
    'Whether a person has approved the machine that began with this challenge and key; Prefer: wait=N with If-None-Match holds the request until that changes',
  access: { by: ['enrollment_challenge'], permission: 'own' },
  etag: true,
  waits: true,
  response: Closed({
    status: OneOf(['authorization_pending', 'authorized', 'access_denied', 'expired_token', 'failed'], {
      description:
        'authorized: finish the enrollment. The next two are errors of RFC 8628. Only the audit event has the reason of a failure. After every other value begin again with a new challenge',
    }),
    ...Waits,
  }),
})
export const enrollByDeviceCode = endpoint({
  ...enrolls,
  method: 'POST',
  path: '/v1/enroll/device-code/finish',
  summary: 'Enroll the machine for the person who has approved it, with the challenge and the key that it began with',
  body: Closed({ challenge, device: NewDevice, public_key: Type.Optional(PublicKey) }),
})

export const beginEnrollmentBySaml = endpoint({
  method: 'POST',
  path: '/v1/enroll/saml/begin',
  summary: 'Begin an enrollment by SAML: returns the sign-in URL for the person; the DPoP header proves the device key',
  access: { by: ['enrollment_challenge'], permission: 'own' },
  audit: 'saml_request.created',
  status: 201,
  body: Closed({
    challenge,
    provider_id: Id('identity_provider'),
    redirect_uri: Type.String({
      pattern: '^http://127\\.0\\.0\\.1:[1-9][0-9]{3,4}/[A-Za-z0-9/_-]{0,128}$',
      maxLength: 160,
      examples: ['http://127.0.0.1:49152/callback'],
      description:
        'Where the application listens on the machine of the person (RFC 8252, 7.3): the response is posted there as SAMLResponse, with the request_id as RelayState',
    }),
    public_key: Type.Optional(PublicKey),
  }),
  response: Closed({
    request_id: Type.String({ description: 'Valid once, for this challenge and this key' }),
    redirect_url: Type.String({ description: 'For the browser of the person' }),
    expires_at: Time,
  }),
})
export const enrollBySaml = endpoint({
  ...enrolls,
  method: 'POST',
  path: '/v1/enroll/saml',
  summary: 'Enroll a device for the person who signed in by SAML, and prove its key (DPoP header)',
  bodyLimit: 288 * 1024,
  body: Closed({
    challenge,
    request_id: Type.String({ minLength: 1, maxLength: 128 }),
    saml_response: Type.String({ minLength: 1, maxLength: 262_144, description: 'As it was posted, in base64' }),
    device: NewDevice,
    public_key: Type.Optional(PublicKey),
  }),
})

export const renewCredential = endpoint({
  method: 'POST',
  path: '/v1/enroll/renew',
  summary: 'Renew the device credential; a new key proves itself in the header DPoP-New-Key',
  access: { by: ['device'], permission: 'own' },
  audit: 'device.renewed',
  headers: ['DPoP-New-Key'],
  body: Closed({
    new_public_key: Type.Optional(PublicKey),
    wireguard_public_key: Type.Optional(WireguardKey),
    arch: Type.Optional(DeviceArchitecture),
    os_version: Type.Optional(Type.String({ maxLength: 64 })),
    client_version: Type.Optional(Type.String({ maxLength: 64 })),
  }),
  response: Closed(Credential),
})
