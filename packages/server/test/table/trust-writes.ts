import { examples } from '@holdfast/contract/examples'
import { newCsr } from '../support/actors/certificate-requests.ts'
import type { Kit } from '../support/deployment/deployment.ts'
import type { Here } from './here.ts'

/** A purpose has at most one pending key, and a key is certified only once. */
export const trustWrites = {
  createSigner: async ({ admin }: Kit, { callers }: Here) => {
    for (const { signer_id } of (await admin.listSigners({ query: { purpose: 'policy', state: 'pending' } })).items)
      await admin.retireSigner({ params: { signer_id }, body: {} })
    return { caller: callers.api_key, body: examples.createSigner }
  },
  issueSpc: async (_: Kit, { callers, own }: Here) => ({
    caller: callers.api_key,
    body: { csr: await newCsr(), device_id: own.ids.device_id },
  }),
  rotateSpc: async (_: Kit, { callers, own }: Here) => ({
    caller: callers.api_key,
    body: { csr: await newCsr(), spc_id: own.ids.spc_id },
  }),
}
