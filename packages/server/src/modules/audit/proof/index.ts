import type { PublicJwk, Signer } from '@holdfast/crypto'
import { background, type Database } from '../../../db/database.ts'
import type { Pager } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { type CheckpointKeys, createCheckpoints } from './checkpoints.ts'
import { proofHandlers } from './proof.handlers.ts'
import { pruneCheckpoints, tenantsToSign } from './proof.queries.ts'
import { createTiles } from './tiles.ts'

export type ProofDeps = {
  db: Database
  pager: Pager
  now: () => Date
  publicUrl: string
  catchUp: (tenant: TenantId) => Promise<void>
  keys: CheckpointKeys
  tenants: () => Promise<readonly TenantId[]>
}

type Trust = {
  signerFor: (tenant: TenantId, purpose: 'audit-checkpoint') => Promise<Signer>
  publishedKey: (tenant: TenantId, kid: string, purpose: 'audit-checkpoint') => Promise<PublicJwk | undefined>
}
/** Keys of the trust module, which is created after this one. */
export const checkpointKeysOf = (trust: () => Trust): CheckpointKeys => ({
  signer: (tenant) => trust().signerFor(tenant, 'audit-checkpoint'),
  published: (tenant, kid) => trust().publishedKey(tenant, kid, 'audit-checkpoint'),
})

/** Evidence that the audit log is append-only: a Merkle tree over it, signed every few minutes. */
export function createProof(deps: ProofDeps) {
  const tiles = createTiles(deps)
  const checkpoints = createCheckpoints({ ...deps, tiles })
  return {
    handlers: proofHandlers({ ...deps, checkpoints, tiles }),
    jobs: [
      {
        name: 'checkpoint_audit',
        cron: '*/5 * * * *',
        run: async () => {
          const open = new Set(await deps.tenants())
          const grown = await deps.db.acrossTenants(tenantsToSign, background)
          await eachTenant(
            grown.filter((tenant) => open.has(tenant)),
            checkpoints.make,
          )
        },
      },
    ],
    prunes: [pruneCheckpoints],
  }
}
