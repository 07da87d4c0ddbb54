import { background, type Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { holesOf } from './holes.queries.ts'
import { noteWords, type Read } from './words.queries.ts'

/** Looked up together. */
const most = 1_000

type ReadBlock = (tenant: TenantId, block: number) => Promise<Read>

/**
 * Reads blocks again that lack among those that were read. They are read in their order, so that none lacks unless
 * somebody took it away; each process looks once.
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
