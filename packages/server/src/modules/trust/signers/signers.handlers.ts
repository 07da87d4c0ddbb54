import type { Contract, Output } from '@holdfast/contract'
import type { SignerPurpose } from '@holdfast/contract/vocabulary'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { versioned } from '../../../kernel/version.ts'
import type { SigningKeyRow } from '../keys/keys.queries.ts'
import type { Signers } from './signers.ts'

export const signerHandlers = (signers: Signers) =>
  ({
    listSigners: async ({ actor, query }) => {
      const { items, next_cursor } = await signers.list(actor.tenantId, query)
      return { items: items.map(viewSigner), next_cursor }
    },
    createSigner: async ({ actor, body }) => viewSigner(await signers.create(actor, body.purpose, body.provider)),
    getSigner: async ({ actor, params }) => {
      const view = viewSigner(await signers.get(actor.tenantId, idOf('signer', params.signer_id)))
      return versioned(view, view)
    },
    activateSigner: async ({ actor, params, body }) =>
      viewChange(await signers.activate(actor, idOf('signer', params.signer_id), body.reason)),
    retireSigner: async ({ actor, params, body: { compromised = false, force = false, reason } }) =>
      viewChange(await signers.retire(actor, idOf('signer', params.signer_id), { compromised, force, reason })),
  }) satisfies Partial<Handlers>

const viewChange = ({ changed, signer }: { changed: boolean; signer: SigningKeyRow }) => ({
  changed,
  signer: viewSigner(signer),
})

const viewSigner = (row: SigningKeyRow): Output<Contract['getSigner']> => ({
  signer_id: encodeId('signer', row.signer_id),
  tenant_id: encodeId('tenant', row.tenant_id),
  purpose: row.purpose as SignerPurpose,
  alg: row.alg,
  kid: row.kid,
  provider: row.provider,
  state: row.state,
  certificate: row.certificate,
  created_at: row.created_at.toISOString(),
  activated_at: row.activated_at?.toISOString() ?? null,
  retire_after: row.retire_after?.toISOString() ?? null,
  retired_at: row.retired_at?.toISOString() ?? null,
})
