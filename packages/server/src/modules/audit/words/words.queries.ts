import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { lines } from '../../../db/lines.ts'
import { deleting } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** So many places in a row are looked up together. */
export const blockPlaces = 1024

export type Block = { block: number; firstAt: string; lastAt: string; records: string[] }

export async function readBlock(tx: Tx, tenant: TenantId, block: number): Promise<Block> {
  // One text: a thousand rows cost the driver more than their words.
  const { rows } = await sql<{ records: string | null; firstAt: string; lastAt: string }>`
    select string_agg(record, e'\n') as records, coalesce(min(at), 'infinity')::text as "firstAt",
      coalesce(max(at), '-infinity')::text as "lastAt"
    from (select record, at from audit_log where tenant_id = ${tenant}
      and seq > ${block * blockPlaces} and seq <= ${(block + 1) * blockPlaces} offset 0) as placed`.execute(tx)
  const { records, ...span } = rows[0]!
  return { block, ...span, records: records?.split('\n') ?? [] }
}

/** Blocks before this one are read, or their events are gone; and the last place that is given. */
export async function unread(tx: Tx, tenant: TenantId): Promise<{ block: number; head: number }> {
  const { rows } = await sql<{ block: number; head: number }>`
    select greatest((select max(block) + 1 from audit_words where tenant_id = ${tenant}), ${beginning}, 0) as block,
      coalesce((select seq from audit_heads where tenant_id = ${tenant}), 0) as head`.execute(tx)
  return rows[0] ?? { block: 0, head: 0 }
}
/** The block in which the record begins. */
const beginning = sql`(select audit_begins_after(current_tenant()) / ${blockPlaces}::bigint)`

export async function noteWords(tx: Tx, tenant: TenantId, block: Block, words: readonly string[]): Promise<void> {
  await sql`
    insert into audit_words (tenant_id, block, first_at, last_at, words)
    select ${tenant}, ${block.block}, cast(${block.firstAt} as timestamptz), cast(${block.lastAt} as timestamptz),
      audit_word_hashes(${tenant}, ${lines(words)})
    on conflict do nothing`.execute(tx)
}

/** Of blocks whose events are all gone. */
export const pruneWords = deleting('audit_words', sql`block < ${beginning}`)
