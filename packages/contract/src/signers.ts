import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Id, List, ListQuery, Nullable, OneOf, Reason, Time } from './schema.ts'
import { signerProviders, signerPurposes, signerStates } from './vocabulary.ts'

const Purpose = OneOf(signerPurposes, { description: 'What it signs; a key signs one kind of thing' })
const State = OneOf(signerStates, {
  description:
    'pending: published, does not sign yet; active: signs; retiring: no longer signs, its signatures are valid; retired, compromised: its signatures are invalid',
})

export const Signer = Closed(
  {
    signer_id: Id('signer'),
    tenant_id: Id('tenant'),
    purpose: Purpose,
    alg: Type.String({ description: 'RFC 7518, RFC 9864' }),
    kid: Type.String({ description: 'RFC 7638 thumbprint' }),
    provider: OneOf(signerProviders, { description: 'Storage of its private key' }),
    state: State,
    certificate: Nullable(Type.String({ description: 'PEM, of a certification authority' })),
    created_at: Time,
    activated_at: Nullable(Time),
    retire_after: Nullable(
      Type.String({ format: 'date-time', description: 'Time at which its last signature expires' }),
    ),
    retired_at: Nullable(Time),
  },
  { title: 'Signer' },
)
const Changed = Closed({ changed: Type.Boolean(), signer: Signer })
const path = '/v1/admin/settings/signers'
const params = Closed({ signer_id: Id('signer') })

export const listSigners = endpoint({
  method: 'GET',
  path,
  summary: 'List signing keys and certification authorities',
  access: { by: ['session', 'api_key'], permission: 'trust:read' },
  query: ListQuery({ purpose: Type.Optional(Purpose), state: Type.Optional(State) }, ['created_at'] as const),
  response: List(Signer),
})
export const createSigner = endpoint({
  method: 'POST',
  path,
  summary: 'Create the successor of the active key; it is published at once and signs after its activation',
  access: { by: ['session', 'api_key'], permission: 'trust:write' },
  audit: 'signer.created',
  status: 201,
  body: Closed({
    purpose: Purpose,
    provider: Type.Optional(
      OneOf(signerProviders, { description: 'pkcs11 where the deployment has a token, else local' }),
    ),
  }),
  response: Signer,
})
export const getSigner = endpoint({
  method: 'GET',
  path: `${path}/{signer_id}`,
  summary: 'One signing key',
  access: { by: ['session', 'api_key'], permission: 'trust:read' },
  params,
  response: Signer,
  etag: true,
})
export const activateSigner = endpoint({
  method: 'POST',
  path: `${path}/{signer_id}/activate`,
  summary: 'Sign with this key from now on; the previous one retires when its signatures have expired',
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
  summary:
    'Retire a key and destroy its private key. Refused, with numbers, while it is still needed, unless forced; compromised: an active key is replaced first',
  access: { by: ['session', 'api_key'], permission: 'trust:write' },
  audit: 'signer.retired',
  stepUp: {},
  params,
  body: Closed({
    compromised: Type.Optional(Type.Boolean({ description: 'The private key may be stolen' })),
    force: Type.Optional(Type.Boolean({ description: 'Retire it although it is still needed' })),
    reason: Type.Optional(Reason),
  }),
  response: Changed,
})
