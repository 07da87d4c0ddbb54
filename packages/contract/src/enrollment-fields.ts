import { Type } from 'typebox'
import { Closed, Id, Nullable, OneOf, Time } from './schema.ts'

export const PublicKey = Closed(
  {
    kty: OneOf(['EC', 'OKP']),
    crv: OneOf(['P-256', 'Ed25519']),
    x: Type.String({ maxLength: 64 }),
    y: Type.Optional(Type.String({ maxLength: 64 })),
  },
  { description: 'JWK (RFC 7517) of the device key; the key of the DPoP proof unless given' },
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
    { description: 'Of the device in the overlay; also a claim of the credential' },
  ),
  trust_anchor_version: Type.Integer(),
}
export const challenge = Type.Optional(
  Type.String({ maxLength: 128, description: 'Where Authorization can not be sent' }),
)
export const Waits = {
  interval_seconds: Type.Integer({ minimum: 1, description: 'How often it is of any use to ask; better, wait' }),
  expires_at: Time,
}
export const ofCode = (description: string, maxLength: number) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }))
