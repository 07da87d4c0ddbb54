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
  checkpointKeys: CheckpointKeys
  tenants: () => Promise<readonly TenantId[]>
}

/** Evidence that the record only grew: the Merkle tree over it, signed every few minutes. */
export function createProof(deps: ProofDeps) {
  const tiles = createTiles(deps)
  const checkpoints = createCheckpoints({ ...deps, keys: deps.checkpointKeys, tiles })
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
