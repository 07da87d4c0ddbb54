import { background } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { day, hour } from '../../../kernel/time.ts'
import type { UpdatesDeps } from '../deps.ts'
import type { IncomingPackages } from '../store/incoming.ts'
import type { PackageStore } from '../store/store.ts'
import * as queries from './packages.queries.ts'

const batch = 100
/** Time for which a content without a release is kept, in ms. An upload of the same content may be in progress. */
const unusedMs = day
/** An aborted transfer may still complete within this time, in ms. */
const settledMs = hour
const first = '00000000-0000-0000-0000-000000000000'

/** Removes unreferenced contents from the store. The row is deleted after its content, so that none is left over. */
export function createSweep({
  db,
  tenants,
  now,
  incoming,
  store,
}: Pick<UpdatesDeps, 'db' | 'tenants' | 'now'> & { incoming: IncomingPackages; store: PackageStore }) {
  const before = (ms: number) => new Date(now().getTime() - ms)

  async function sweepTenant(tenant: TenantId): Promise<number> {
    const found = await db.inTenant(
      tenant,
      async (tx) => {
        await queries.markContentsUnused(tx, tenant, before(unusedMs), now(), batch)
        return queries.selectRemoving(tx, tenant, before(settledMs), batch)
      },
      background,
    )
    for (const { blob_id: blobId } of found) await store.remove({ tenant, blobId })
    const ids = found.map((b) => b.blob_id)
    if (ids.length > 0) await db.inTenant(tenant, (tx) => queries.deleteBlobs(tx, tenant, ids), background)
    return ids.length
  }

  return {
    run: async (): Promise<number> => {
      let removed = await incoming.sweep()
      await eachTenant(await tenants(), async (tenant) => {
        removed += await sweepTenant(tenant)
      })
      return removed
    },
    /** Removes all contents of a tenant from the store. Its rows are erased afterwards. */
    removeAll: async (tenant: TenantId): Promise<void> => {
      for (let after = first; ; ) {
        const found = await db.inTenant(tenant, (tx) => queries.selectBlobs(tx, tenant, after, batch), background)
        for (const { blob_id: blobId } of found) await store.remove({ tenant, blobId })
        if (found.length < batch) return
        after = found.at(-1)!.blob_id
      }
    },
  }
}
