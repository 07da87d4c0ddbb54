import { Type } from 'typebox'
import { Channel } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Id, List, ListQuery, NameOf, Nullable, OneOf, Time, WasChanged } from './schema.ts'
import { revocationReasons } from './vocabulary.ts'

const Serial = Type.String({
  pattern: '^[0-9a-f]{32}$',
  description: 'Serial number in hexadecimal: the 16 bytes of the id',
})

/** A Security Policy Certificate: X.509 (RFC 5280), for one device and key. */
export const Spc = Closed(
  {
    spc_id: Id('spc'),
    serial: Serial,
    tenant_id: Id('tenant'),
    device_id: Id('device'),
    device_name: NameOf('device'),
    user_id: Nullable(Id('user')),
    user_name: NameOf('user (its username)'),
    issuer_id: Id('signer'),
    status: OneOf(['active', 'superseded', 'revoked', 'expired'], {
      description: '`superseded`: the SPC was rotated, and stays valid for the overlap',
    }),
    not_before: Time,
    not_after: Time,
    renew_after: Time,
    spki_sha256: Type.String({ description: 'SHA-256 of the public key (SubjectPublicKeyInfo), hex' }),
    fingerprint_sha256: Type.String({ description: 'SHA-256 of the certificate, hex' }),
    spiffe_id: Type.String(),
    policy: Nullable(
      Closed(
        { channel: Channel, version: Count, digest: Type.String() },
        { description: 'Policy of the device when it was issued' },
      ),
    ),
    replaces: Nullable(Id('spc')),
    revoke_after: Nullable(Time),
    revoked_at: Nullable(Time),
    revocation_reason: Nullable(Type.String({ description: 'Reason of the revocation (RFC 5280 §5.3.1)' })),
    issued_at: Time,
  },
  { title: 'Spc' },
)
const Pem = Type.String({ description: 'PEM' })
const Issued = Closed({
  spc: Spc,
  certificate: Pem,
  chain: Type.Array(Pem, {
    description: 'Intermediate certificates up to every trust anchor, including cross certificates',
  }),
  trust_anchor_version: Count,
})
const Csr = Type.String({
  minLength: 1,
  maxLength: 16_384,
  description:
    'Certificate request PKCS#10 (RFC 2986) of P-256, P-384 or Ed25519, as PEM or base64 DER. Only its key is used. No other certificate of the tenant may have had this key',
})
const named = {
  spc_id: Type.Optional(Id('spc')),
  serial: Type.Optional(Type.String({ maxLength: 64, description: 'Serial number in hexadecimal; replaces `spc_id`' })),
}
const by = ['device', 'session', 'api_key'] as const

export const issueSpc = endpoint({
  method: 'POST',
  path: '/v1/spc/issue',
  summary: 'Issue an SPC',
  description: 'The certificate is for the calling device, or for the device that an administrator names.',
  access: { by, permission: 'spc:write' },
  audit: 'spc.issued',
  status: 201,
  body: Closed({ csr: Csr, device_id: Type.Optional(Id('device')) }),
  response: Issued,
})
export const rotateSpc = endpoint({
  method: 'POST',
  path: '/v1/spc/rotate',
  summary: 'Replace an SPC by one for another key',
  description: 'The replaced SPC stays valid for an hour.',
  access: { by, permission: 'spc:write' },
  audit: 'spc.rotated',
  status: 201,
  body: Closed({ ...named, csr: Csr }),
  response: Issued,
})
export const revokeSpc = endpoint({
  method: 'POST',
  path: '/v1/spc/revoke',
  summary: 'Revoke an SPC',
  description: 'Revocation is final.',
  access: { by, permission: 'spc:write' },
  audit: 'spc.revoked',
  body: Closed({
    ...named,
    reason: Type.Optional(OneOf(revocationReasons, { description: 'Default: unspecified' })),
  }),
  response: Closed({ changed: WasChanged, spc: Spc }),
})
export const validateSpc = endpoint({
  method: 'POST',
  path: '/v1/spc/validate',
  summary: 'Validate a certificate as an SPC',
  description: 'The answer is whether the certificate is a valid SPC of this tenant.',
  access: { by: [...by, 'gateway'], permission: 'spc:read' },
  audit: 'spc.validated',
  records: 'refusals',
  body: Closed({
    certificate: Type.String({ minLength: 1, maxLength: 16_384, description: 'PEM or base64 DER' }),
    at: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: 'Time at which the validity period is checked. Default: now',
      }),
    ),
  }),
  response: Closed({
    valid: Type.Boolean(),
    status: OneOf(['good', 'superseded', 'revoked', 'expired', 'not_yet_valid', 'device_inactive', 'unknown_issuer']),
    reasons: Type.Array(Type.String({ description: 'One sentence' })),
    spc: Nullable(
      Closed({
        spc_id: Id('spc'),
        serial: Serial,
        device_id: Id('device'),
        user_id: Nullable(Id('user')),
        not_before: Time,
        not_after: Time,
        spki_sha256: Type.String(),
        fingerprint_sha256: Type.String(),
      }),
    ),
    policy: Nullable(
      Closed({
        spc_digest: Nullable(Type.String()),
        current_digest: Nullable(Type.String()),
        match: Type.Boolean({ description: 'True: the device still has the policy for which the SPC was issued' }),
      }),
    ),
    checked_at: Time,
  }),
})

export const listSpcs = endpoint({
  method: 'GET',
  path: '/v1/admin/spc',
  summary: 'List SPCs',
  access: { by: ['session', 'api_key'], permission: 'spc:read' },
  query: ListQuery(
    {
      device_id: Type.Optional(Id('device')),
      status: Type.Optional(OneOf(['active', 'superseded', 'revoked', 'expired'])),
    },
    ['issued_at', 'not_after'] as const,
    '-issued_at',
  ),
  response: List(Spc),
})
export const getSpc = endpoint({
  method: 'GET',
  path: '/v1/admin/spc/{spc_id}',
  summary: 'Get an SPC',
  description: 'The answer contains its certificate.',
  access: { by: ['session', 'api_key'], permission: 'spc:read' },
  params: Closed({ spc_id: Id('spc') }),
  response: Closed({ ...Spc.properties, certificate: Pem }),
  etag: true,
})
