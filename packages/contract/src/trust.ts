import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Id, OneOf, Time } from './schema.ts'

const Jwk = Closed({
  kty: Type.String(),
  crv: Type.String(),
  x: Type.String(),
  y: Type.Optional(Type.String()),
  kid: Type.String(),
  alg: Type.String(),
  use: Type.String(),
  holdfast_purpose: Type.Array(Type.String()),
})

/** The trust anchor set: what devices and gateways check every signature against. */
export const TrustSet = Closed({
  tenant_id: Id('tenant'),
  version: Count,
  issued_at: Time,
  expires_at: Time,
  refresh_after: Time,
  anchors: Type.Array(
    Closed({
      anchor_id: Id('signer'),
      state: OneOf(['next', 'active', 'retiring', 'retired', 'distrusted']),
      subject: Type.String(),
      spki_sha256: Type.String(),
      not_before: Time,
      not_after: Time,
      certificate: Type.String({ description: 'PEM' }),
    }),
  ),
  intermediates: Type.Array(Type.String({ description: 'PEM' })),
  jwks: Closed({ keys: Type.Array(Jwk) }),
})

const Signed = Closed(
  {
    ...TrustSet.properties,
    signed: Closed({
      payload: Type.String({
        description: 'base64url of the canonical JSON (RFC 8785) of this document without `signed`',
      }),
      signatures: Type.Array(Closed({ protected: Type.String(), signature: Type.String() })),
    }),
  },
  { title: 'TrustSet' },
)

export const trustAnchors = endpoint({
  method: 'GET',
  path: '/v1/trust/anchors',
  summary: 'The current trust anchor set, signed (general JSON JWS, trust-set+jws)',
  access: { by: ['session', 'api_key', 'device'], permission: 'trust:read' },
  etag: true,
  response: Signed,
})

export const gatewayTrustAnchors = endpoint({
  method: 'GET',
  path: '/v1/gateway/runtime/trust-anchors',
  summary: 'The current trust anchor set, for gateways',
  access: { by: ['gateway'], permission: 'own' },
  etag: true,
  response: Signed,
})
