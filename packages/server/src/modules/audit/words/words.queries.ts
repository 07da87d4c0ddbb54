import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { lines } from '../../../db/lines.ts'
import { deleting } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** So many places in a row are looked up together. */
export const blockPlaces = 1024
/** Of a block, so much is read at once. */
const mostBytes = 4 * 1024 * 1024

/** Records of a block, a line each, with the span of their times; the last place that was read. */
type Part = { records: string; firstAt: string; lastAt: string; last: number; isLast: boolean }

/** What comes behind a place, up to another. Nothing is left of it where all of it is purged. */
export async function readPart(tx: Tx, tenant: TenantId, after: number, upTo: number): Promise<Part | undefined> {
  // One text: a thousand rows cost the driver more than their words.
  const { rows } = await sql<Omit<Part, 'isLast'> & { bytes: number }>`
    select string_agg(record, e'\n') as records, min(at)::text as "firstAt", max(at)::text as "lastAt",
      max(seq) as last, max(bytes) as bytes
    from (select seq, at, record, sum(octet_length(record)) over (order by seq) as bytes
      from audit_log where tenant_id = ${tenant} and seq > ${after} and seq <= ${upTo}) as placed
    where bytes - octet_length(record) < ${mostBytes} having count(*) > 0`.execute(tx)
  return rows[0] && { ...rows[0], isLast: rows[0].bytes < mostBytes }
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

/** `times`: among them the first and the last of its events. */
export type Read = { block: number; times: readonly string[]; words: readonly string[] }
export async function noteWords(tx: Tx, tenant: TenantId, { block, times, words }: Read): Promise<void> {
  await sql`
    insert into audit_words (tenant_id, block, first_at, last_at, words)
    select ${tenant}, ${block}, coalesce(min(at), 'infinity'), coalesce(max(at), '-infinity'),
      audit_word_hashes(${tenant}, ${lines(words)})
    from unnest(${times}::timestamptz[]) as at
    on conflict do nothing`.execute(tx)
}

/** Of blocks whose events are all gone. */
export const pruneWords = deleting('audit_words', sql`block < ${beginning}`)
