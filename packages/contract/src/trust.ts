import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Id, OneOf, Reason, Time } from './schema.ts'

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

/** The trust anchor set, with which devices and gateways verify every signature. */
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

const Signature = Closed({
  payload: Type.String({
    description: 'base64url of the canonical JSON (RFC 8785) of this document without `signed`',
  }),
  signatures: Type.Array(Closed({ protected: Type.String(), signature: Type.String() })),
})
const Signed = Closed({ ...TrustSet.properties, signed: Signature }, { title: 'TrustSet' })
const since = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description:
      'Version of the trust set that the caller trusts. The answer includes the sets that lead from it to the current one',
  }),
)
const Steps = Type.Optional(
  Type.Array(Signature, {
    title: 'TrustSteps',
    description:
      'With `since`: earlier sets, oldest first. A key of the previous set signs each. A client that missed a rotation follows them',
  }),
)

export const trustAnchors = endpoint({
  method: 'GET',
  path: '/v1/trust/anchors',
  summary: 'Get the current trust anchor set',
  description: 'The set is signed (general JSON JWS, trust-set+jws).',
  access: { by: ['session', 'api_key', 'device'], permission: 'trust:read' },
  etag: true,
  query: Closed({ since }),
  response: Closed({ ...Signed.properties, steps: Steps }),
})

export const gatewayTrustAnchors = endpoint({
  method: 'GET',
  path: '/v1/gateway/runtime/trust-anchors',
  summary: 'Get the trust anchors for the gateway',
  description:
    'The answer has the current trust anchor set and the revocation lists of its authorities. `Prefer: wait=N` holds the request until one of them changes.',
  access: { by: ['gateway'], permission: 'own' },
  etag: true,
  waits: true,
  query: Closed({ since }),
  response: Closed({
    ...Signed.properties,
    steps: Steps,
    crls: Type.Array(
      Closed(
        {
          issuer_id: Id('signer'),
          issuer: Type.String({ description: 'Subject of the authority (RFC 4514)' }),
          number: Count,
          this_update: Time,
          next_update: Time,
          der: Type.String({ description: 'The list (RFC 5280 §5), base64 DER' }),
        },
        { title: 'Crl' },
      ),
      { description: 'Revocation lists. Their authorities sign them, so `signed` does not cover them' },
    ),
  }),
})

export const rotateTrustAnchors = endpoint({
  method: 'POST',
  path: '/v1/trust/anchors/rotate',
  summary: 'Replace the active trust anchor',
  description:
    '`planned`: both anchors are valid for an overlap. `emergency`: the old anchor ends at once with all its certificates.',
  access: { by: ['session', 'api_key'], permission: 'trust:rotate' },
  audit: 'trust_anchors.rotated',
  stepUp: {},
  body: Closed({
    mode: Type.Optional(OneOf(['planned', 'emergency'], { description: 'Default: planned' })),
    anchor_id: Type.Optional(Id('signer')),
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 365 * 86_400,
        description:
          'Minimum time for which the old anchor stays, in seconds. It is at least two lifetimes of a trust set',
      }),
    ),
    reason: Type.Optional(Reason),
  }),
  response: Closed({
    mode: OneOf(['planned', 'emergency']),
    anchor_id: Id('signer'),
    replaced_anchor_id: Id('signer'),
    retire_after: Type.Union([Time, Type.Null()], {
      description: 'Time at which the old anchor may retire; null: it has ended',
    }),
    trust_anchor_version: Count,
  }),
})
