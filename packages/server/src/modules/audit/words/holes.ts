import { background, type Database } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { holesOf } from './holes.queries.ts'
import { type Block, noteWords, readBlock } from './words.queries.ts'

/** Looked up together. */
const most = 1_000

/**
 * Reads blocks again that lack among those that were read. They are read in their order, so that none lacks unless
 * somebody took it away; each process looks once.
 */
export function createHoles({ db, wordsOf }: { db: Database; wordsOf: (block: Block) => Promise<string[]> }) {
  const looked = new Set<TenantId>()
  return async (tenant: TenantId): Promise<void> => {
    if (looked.has(tenant)) return
    const missing = await db.inTenant(tenant, (tx) => holesOf(tx, tenant, most), background)
    for (const number of missing) {
      const block = await db.inTenant(tenant, (tx) => readBlock(tx, tenant, number), background)
      const words = await wordsOf(block)
      await db.inTenant(tenant, (tx) => noteWords(tx, tenant, block, words), background)
    }
    if (missing.length < most) looked.add(tenant)
  }
}
