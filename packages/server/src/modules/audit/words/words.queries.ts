import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { lines } from '../../../db/lines.ts'
import { deleting } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Number of consecutive events that form a block. */
export const blockPlaces = 1024
/** Maximum number of bytes read from a block at once. */
const mostBytes = 4 * 1024 * 1024

/** Records of a block, one per line, with the range of their times and the last sequence number read. */
type Part = { records: string; firstAt: string; lastAt: string; last: number; isLast: boolean }

/** Reads events from `after` (exclusive) to `upTo` (inclusive). Undefined if all of them are purged. */
export async function readPart(tx: Tx, tenant: TenantId, after: number, upTo: number): Promise<Part | undefined> {
  // One text: a thousand rows would cost the driver more than their words.
  const { rows } = await sql<Omit<Part, 'isLast'> & { bytes: number }>`
    select string_agg(record, e'\n') as records, min(at)::text as "firstAt", max(at)::text as "lastAt",
      max(seq) as last, max(bytes) as bytes
    from (select seq, at, record, sum(octet_length(record)) over (order by seq) as bytes
      from audit_log where tenant_id = ${tenant} and seq > ${after} and seq <= ${upTo}) as placed
    where bytes - octet_length(record) < ${mostBytes} having count(*) > 0`.execute(tx)
  return rows[0] && { ...rows[0], isLast: rows[0].bytes < mostBytes }
}

/** Blocks before `block` are indexed or purged. `head` is the last assigned sequence number. */
export async function unread(tx: Tx, tenant: TenantId): Promise<{ block: number; head: number }> {
  const { rows } = await sql<{ block: number; head: number }>`
    select greatest((select max(block) + 1 from audit_words where tenant_id = ${tenant}), ${beginning}, 0) as block,
      coalesce((select seq from audit_heads where tenant_id = ${tenant}), 0) as head`.execute(tx)
  return rows[0] ?? { block: 0, head: 0 }
}
/** The block in which the log begins. */
const beginning = sql`(select audit_begins_after(current_tenant()) / ${blockPlaces}::bigint)`

/** `times` include those of the first and the last event. */
export type Read = { block: number; times: readonly string[]; words: readonly string[] }
export async function noteWords(tx: Tx, tenant: TenantId, { block, times, words }: Read): Promise<void> {
  await sql`
    insert into audit_words (tenant_id, block, first_at, last_at, words)
    select ${tenant}, ${block}, coalesce(min(at), 'infinity'), coalesce(max(at), '-infinity'),
      audit_word_hashes(${tenant}, ${lines(words)})
    from unnest(${times}::timestamptz[]) as at
    on conflict do nothing`.execute(tx)
}

/** Purges blocks whose events are all purged. */
export const pruneWords = deleting('audit_words', sql`block < ${beginning}`)

/** Blocks without indexed words before the newest indexed block, at most `most`. */
export async function holesOf(tx: Tx, tenant: TenantId, most: number): Promise<number[]> {
  const { rows } = await sql<{ block: number }>`
    select block from generate_series(audit_begins_after(${tenant}) / ${blockPlaces}::bigint,
      (select max(block) from audit_words where tenant_id = ${tenant})) as block
    where not exists (select from audit_words w where w.tenant_id = ${tenant} and w.block = block.block)
    order by block limit ${most}`.execute(tx)
  return rows.map(({ block }) => block)
}
