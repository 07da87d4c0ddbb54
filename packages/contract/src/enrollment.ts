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
  WasChanged,
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
    hint: Type.String({ description: 'Last four characters of the secret' }),
    max_uses: Type.Integer({ description: 'Number of enrollments; 0: unlimited' }),
    uses: Count,
    expires_at: Time,
    user_id: Nullable(Id('user')),
    user_name: NameOf('user (its username)'),
    group_ids: Type.Array(Id('group')),
    group_names: NamesOf('groups'),
    tags: Type.Array(Type.String()),
    platforms: Type.Array(Platform),
    allowed_cidrs: Type.Array(Type.String()),
    requires_approval: Type.Boolean({ description: 'True: devices that enroll with the token wait for approval' }),
    ephemeral_seconds: Nullable(
      Type.Integer({ description: 'Seconds without contact after which its devices are revoked; null: never' }),
    ),
    max_devices_per_user: Nullable(
      Type.Integer({ description: 'Devices of a user from which on the token enrolls no further one; null: no limit' }),
    ),
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
  summary: 'Create an enrollment token',
  description: 'Only this answer contains the secret of the token.',
  access: { by: ['session', 'api_key'], permission: 'enrollment_tokens:write' },
  fieldPermissions: { group_ids: 'groups:write', tags: 'devices:write' },
  audit: 'enrollment_token.created',
  status: 201,
  body: Closed({
    name: Type.Optional(Name),
    kind: Type.Optional(OneOf(['enroll', 'bootstrap'])),
    max_uses: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'Number of enrollments. Default: 1; 0: unlimited' }),
    ),
    expires_in_seconds: expiresInSeconds(90, 'default: 24 hours'),
    user_id: Type.Optional(Id('user')),
    group_ids: Type.Optional(Ids('group')),
    tags: Type.Optional(Tags),
    platforms: Type.Optional(Type.Array(Platform, { maxItems: 6, uniqueItems: true })),
    allowed_cidrs: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
    requires_approval: Type.Optional(
      Type.Boolean({ description: 'True: devices that enroll with the token wait for approval. Default: false' }),
    ),
    ephemeral_seconds: Type.Optional(
      Type.Integer({
        minimum: 60,
        maximum: 90 * 86_400,
        description: 'Time without contact after which devices of this token are revoked, in seconds',
      }),
    ),
    max_devices_per_user: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        description: 'Devices of a user from which on the token enrolls no further one. Default: no limit',
      }),
    ),
  }),
  response: Closed({ enrollment_token: EnrollmentToken, secret: Secret, install_lines: InstallLines }),
})

export const listTokens = endpoint({
  method: 'GET',
  path: '/v1/admin/tokens',
  summary: 'List enrollment tokens',
  access: { by: ['session', 'api_key'], permission: 'enrollment_tokens:read' },
  query: ListQuery(
    { status: Type.Optional(tokenStatus), q: Prefix },
    ['created_at', 'expires_at', 'name'] as const,
    '-created_at',
  ),
  response: List(EnrollmentToken),
})

export const getToken = endpoint({
  method: 'GET',
  path: '/v1/admin/tokens/{token_id}',
  summary: 'Get an enrollment token',
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
  response: Closed({ enrollment_token: EnrollmentToken, changed: WasChanged }),
  ifMatch: true,
})

export const enroll = endpoint({
  method: 'POST',
  path: '/v1/enroll',
  summary: 'Enroll a device with an enrollment token',
  description: 'The `DPoP` header proves the device key.',
  access: { by: ['enrollment_token'], permission: 'own' },
  audit: 'device.enrolled',
  status: 201,
  body: Closed({
    enrollment_token: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'Credential of a client that cannot send the header `Authorization`',
      }),
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
  summary: 'List identity providers for enrollment',
  description: 'The answer also has a challenge for one enrollment.',
  access: { by: ['enrollment_token', 'device', 'session', 'api_key'], permission: 'own' },
  response: Closed({
    items: Type.Array(EnrollmentProvider),
    challenge: Type.String({ description: `Challenge for one enrollment, valid for ${challengeMinutes} minutes` }),
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
  summary: 'Enroll a device by OpenID Connect',
  description: 'A person signs in at an identity provider. The `DPoP` header proves the device key.',
  body: Closed({
    challenge,
    provider_id: Id('identity_provider'),
    id_token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 24_576,
        description: `ID token for one of \`client_ids\`, issued at most ${idTokenMinutes} minutes ago. Its nonce is base64url(SHA-256(challenge "." jkt)), where jkt is the thumbprint of the device key (RFC 7638)`,
      }),
    ),
    code: ofCode('Authorization code of a flow with that nonce and with PKCE; replaces `id_token`', 2048),
    code_verifier: ofCode('Code verifier of PKCE (RFC 7636)', 128),
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
  summary: 'Begin an enrollment by device code',
  description:
    'This begins a device authorization grant (RFC 8628) for a machine without a browser. The `DPoP` header proves the device key. A person approves the machine at the identity provider.',
  access: { by: ['enrollment_challenge'], permission: 'own' },
  audit: 'device_grant.created',
  status: 201,
  body: Closed({ challenge, provider_id: Id('identity_provider'), public_key: Type.Optional(PublicKey) }),
  response: Closed({
    user_code: Type.String({ description: 'Code that the person enters at verification_uri' }),
    verification_uri: Type.String(),
    verification_uri_complete: Nullable(Type.String({ description: '`verification_uri` with the code' })),
    ...Waits,
  }),
})
export const deviceCodeStatus = endpoint({
  method: 'GET',
  path: '/v1/enroll/device-code',
  summary: 'Get the state of an enrollment by device code',
  description:
    'The caller proves the challenge and the key with which it began. `Prefer: wait=N` with `If-None-Match` holds the request until the state changes.',
  access: { by: ['enrollment_challenge'], permission: 'own' },
  etag: true,
  waits: true,
  response: Closed({
    status: OneOf(['authorization_pending', 'authorized', 'access_denied', 'expired_token', 'failed'], {
      description:
        '`authorization_pending`: continue to wait. `authorized`: finish the enrollment. `access_denied` and `expired_token` are errors of RFC 8628. After these and `failed`, begin again with a new challenge. Only the audit event has the reason of a failure',
    }),
    ...Waits,
  }),
})
export const enrollByDeviceCode = endpoint({
  ...enrolls,
  method: 'POST',
  path: '/v1/enroll/device-code/finish',
  summary: 'Enroll a machine that a person approved',
  description: 'The machine uses the challenge and the key with which it began.',
  body: Closed({ challenge, device: NewDevice, public_key: Type.Optional(PublicKey) }),
})

export const beginEnrollmentBySaml = endpoint({
  method: 'POST',
  path: '/v1/enroll/saml/begin',
  summary: 'Begin an enrollment by SAML',
  description: 'The answer has the sign-in URL for the person. The `DPoP` header proves the device key.',
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
        'URI where the application listens on the machine of the person (RFC 8252 §7.3). The response is posted there as `SAMLResponse`, with the request_id as `RelayState`',
    }),
    public_key: Type.Optional(PublicKey),
  }),
  response: Closed({
    request_id: Type.String({ description: 'Id of the request. It is valid once, for this challenge and this key' }),
    redirect_url: Type.String({ description: 'Sign-in URL for the browser of the person' }),
    expires_at: Time,
  }),
})
export const enrollBySaml = endpoint({
  ...enrolls,
  method: 'POST',
  path: '/v1/enroll/saml',
  summary: 'Enroll a device by SAML',
  description: 'A person has signed in at a SAML identity provider. The `DPoP` header proves the device key.',
  bodyLimit: 288 * 1024,
  body: Closed({
    challenge,
    request_id: Type.String({ minLength: 1, maxLength: 128 }),
    saml_response: Type.String({
      minLength: 1,
      maxLength: 262_144,
      description: 'SAML response in base64, as the provider posted it',
    }),
    device: NewDevice,
    public_key: Type.Optional(PublicKey),
  }),
})

export const renewCredential = endpoint({
  method: 'POST',
  path: '/v1/enroll/renew',
  summary: 'Renew the device credential',
  description: 'The header `DPoP-New-Key` proves a new key.',
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
