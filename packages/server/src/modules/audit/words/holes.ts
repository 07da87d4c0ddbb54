import { background, type Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { holesOf } from './holes.queries.ts'
import { noteWords, type Read } from './words.queries.ts'

/** Blocks per query. */
const most = 1_000

type ReadBlock = (tenant: TenantId, block: number) => Promise<Read>

/**
 * Indexes missing blocks again. Blocks are indexed in order, so one is missing only if it was deleted. Each process
 * checks a tenant once.
 */
export function createHoles({ db, readBlock }: { db: Database; readBlock: ReadBlock }) {
  const looked = new Set<TenantId>()
  return async (tenant: TenantId): Promise<void> => {
    if (looked.has(tenant)) return
    const missing = await db.inTenant(tenant, (tx) => holesOf(tx, tenant, most), background)
    for (const block of missing) {
      const read = await readBlock(tenant, block)
      await db.inTenant(tenant, (tx) => noteWords(tx, tenant, read), background)
    }
    if (missing.length < most) looked.add(tenant)
  }
}
