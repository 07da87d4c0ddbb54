import { Type } from 'typebox'
import { Closed, Id, Name, Nullable, OneOf, Time, WireguardKey } from './schema.ts'
import { attemptOutcomes, attemptReasons } from './start-vocabulary.ts'
import { DeviceArchitecture } from './updates.ts'
import { identityProviderKinds } from './vocabulary.ts'

export const platforms = ['linux', 'macos', 'windows', 'ios', 'android', 'other'] as const
export const Platform = OneOf(platforms)

/** The newest use of an enrollment token. It is written within a second or two; several in a second are one. */
export const EnrollmentAttempt = Closed(
  {
    at: Time,
    outcome: OneOf(attemptOutcomes),
    reason: Nullable(OneOf(attemptReasons, { description: 'Reason of the refusal; null otherwise' })),
    source_ip: Type.String(),
    platform: Nullable(
      OneOf(platforms, {
        description: 'As the device reported it; null if the request was refused before it was read',
      }),
    ),
  },
  { title: 'EnrollmentAttempt' },
)

export const PublicKey = Closed(
  {
    kty: OneOf(['EC', 'OKP']),
    crv: OneOf(['P-256', 'Ed25519']),
    x: Type.String({ maxLength: 64 }),
    y: Type.Optional(Type.String({ maxLength: 64 })),
  },
  { description: 'Public device key as a JWK (RFC 7517). Default: the key of the DPoP proof' },
)
export const Credential = {
  device_id: Id('device'),
  tenant_id: Id('tenant'),
  user_id: Nullable(Id('user')),
  status: OneOf(['pending', 'active']),
  credential: Type.String({ description: 'The device credential, shown once' }),
  token_type: OneOf(['Bearer']),
  binding: OneOf(['dpop', 'none']),
  expires_at: Time,
  renew_after: Time,
  addresses: Closed(
    { ipv4: Type.String(), ipv6: Type.String() },
    { description: 'Overlay address of the device; also a claim of the credential' },
  ),
  trust_anchor_version: Type.Integer({ description: 'Version of the current trust anchor set' }),
}
export const challenge = Type.Optional(
  Type.String({ maxLength: 128, description: 'Credential of a client that cannot send the header `Authorization`' }),
)
export const Waits = {
  interval_seconds: Type.Integer({
    minimum: 1,
    description: 'Shortest useful interval between polls, in seconds. `Prefer: wait=N` avoids polls',
  }),
  expires_at: Time,
}
export const ofCode = (description: string, maxLength: number) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }))

export const NewDevice = Closed({
  name: Name,
  platform: Platform,
  arch: Type.Optional(DeviceArchitecture),
  os_version: Type.Optional(Type.String({ maxLength: 64 })),
  client_version: Type.Optional(Type.String({ maxLength: 64 })),
  serial: Type.Optional(Type.String({ maxLength: 128 })),
  wireguard_public_key: Type.Optional(WireguardKey),
})

export const EnrollmentProvider = Closed({
  provider_id: Id('identity_provider'),
  name: Name,
  kind: OneOf(identityProviderKinds),
  issuer: Type.String({ description: 'Issuer, whose discovery document has the endpoints. For SAML the entity id' }),
  client_ids: Type.Array(Type.String(), {
    description: 'Client ids of public clients (RFC 8252). The ID token must be for one of them',
  }),
  scopes: Type.Array(Type.String()),
  device_code: Type.Boolean({
    description: 'True: a machine without a browser may begin at `/v1/enroll/device-code`',
  }),
})
