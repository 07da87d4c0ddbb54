import { sql } from 'kysely'
import { type Kept, overBefore } from '../../../db/kept.ts'
import type { Prune } from '../../../db/retention.ts'

/** The oldest of the record, in the order of its places; the database alone may take it, and keeps the hash at the cut. */
export const pruneRecord = (kept: Kept): Prune => ({
  kept,
  isDue: (tenant) =>
    sql<boolean>`coalesce((select sequenced_at from audit_log where tenant_id = ${tenant} order by seq limit 1)
      < ${overBefore(kept)}, false)`,
  take: async (tx, _, limit) => {
    const { rows } = await sql<{ gone: number }>`
      select purge_audit(${kept.usual}::integer, ${kept.most}::integer, ${limit}) as gone`.execute(tx)
    return rows[0]?.gone ?? 0
  },
})
