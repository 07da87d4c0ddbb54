import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Id, List, ListQuery, Nullable, OneOf, Reason, Time, WasChanged } from './schema.ts'
import { signerProviders, signerPurposes, signerStates } from './vocabulary.ts'

const Purpose = OneOf(signerPurposes, { description: 'Kind of documents that the key signs. A key has one purpose' })
const State = OneOf(signerStates, {
  description:
    '`pending`: published, does not sign yet. `active`: signs. `retiring`: no longer signs, its signatures stay valid. `retired`, `compromised`: its signatures are invalid',
})

export const Signer = Closed(
  {
    signer_id: Id('signer'),
    tenant_id: Id('tenant'),
    purpose: Purpose,
    alg: Type.String({ description: 'Algorithm (RFC 7518, RFC 9864)' }),
    kid: Type.String({ description: 'Key id: the thumbprint of the key (RFC 7638)' }),
    provider: OneOf(signerProviders, { description: 'Storage of its private key' }),
    state: State,
    certificate: Nullable(Type.String({ description: 'Certificate of a certification authority, PEM' })),
    created_at: Time,
    activated_at: Nullable(Time),
    retire_after: Nullable(
      Type.String({ format: 'date-time', description: 'Time at which the last signature of the key expires' }),
    ),
    retired_at: Nullable(Time),
  },
  { title: 'Signer' },
)
const Changed = Closed({ changed: WasChanged, signer: Signer })
const path = '/v1/admin/settings/signers'
const params = Closed({ signer_id: Id('signer') })

export const listSigners = endpoint({
  method: 'GET',
  path,
  summary: 'List signing keys',
  description: 'The list includes certification authorities.',
  access: { by: ['session', 'api_key'], permission: 'trust:read' },
  query: ListQuery(
    { purpose: Type.Optional(Purpose), state: Type.Optional(State) },
    ['created_at'] as const,
    '-created_at',
  ),
  response: List(Signer),
})
export const createSigner = endpoint({
  method: 'POST',
  path,
  summary: 'Create a signing key',
  description: 'The key is the successor of the active key. It is published at once, and signs after its activation.',
  access: { by: ['session', 'api_key'], permission: 'trust:write' },
  audit: 'signer.created',
  status: 201,
  body: Closed({
    purpose: Purpose,
    provider: Type.Optional(
      OneOf(signerProviders, {
        description: 'Storage of the private key. Default: `pkcs11` if the deployment has a token, else `local`',
      }),
    ),
  }),
  response: Signer,
})
export const getSigner = endpoint({
  method: 'GET',
  path: `${path}/{signer_id}`,
  summary: 'Get a signing key',
  access: { by: ['session', 'api_key'], permission: 'trust:read' },
  params,
  response: Signer,
  etag: true,
})
export const activateSigner = endpoint({
  method: 'POST',
  path: `${path}/{signer_id}/activate`,
  summary: 'Activate a signing key',
  description: 'The key signs from now on. The previous key retires after its signatures have expired.',
  access: { by: ['session', 'api_key'], permission: 'trust:write' },
  audit: 'signer.activated',
  stepUp: {},
  params,
  body: Closed({ reason: Type.Optional(Reason) }),
  response: Changed,
})
export const retireSigner = endpoint({
  method: 'POST',
  path: `${path}/{signer_id}/retire`,
  summary: 'Retire a signing key',
  description:
    'The private key is destroyed. Without `force` the answer is 422, with numbers, while the key is still needed. With `compromised` an active key is replaced first.',
  access: { by: ['session', 'api_key'], permission: 'trust:write' },
  audit: 'signer.retired',
  stepUp: {},
  params,
  body: Closed({
    compromised: Type.Optional(Type.Boolean({ description: 'True: the private key may be stolen' })),
    force: Type.Optional(Type.Boolean({ description: 'True: retires the key although it is still needed' })),
    reason: Type.Optional(Reason),
  }),
  response: Changed,
})
