import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { blockPlaces } from './words.queries.ts'

/** Blocks without indexed words before the newest indexed block, at most `most`. */
export async function holesOf(tx: Tx, tenant: TenantId, most: number): Promise<number[]> {
  const { rows } = await sql<{ block: number }>`
    select block from generate_series(audit_begins_after(${tenant}) / ${blockPlaces}::bigint,
      (select max(block) from audit_words where tenant_id = ${tenant})) as block
    where not exists (select from audit_words w where w.tenant_id = ${tenant} and w.block = block.block)
    order by block limit ${most}`.execute(tx)
  return rows.map(({ block }) => block)
}
