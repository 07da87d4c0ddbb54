import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { minute } from '../../../kernel/time.ts'

/**
 * Range of events in the audit log: those after a sequence number; for an export also up to a number and within its
 * time.
 */
type Part = { after_seq: number; until_seq: number | null; from_at: Date | null; to_at: Date | null }

/** An event with its sequence number, and its hash in hexadecimal. */
type Placed = { seq: number; hash: string; record: string }
const placed = (row: Omit<Placed, 'hash'> & { hash: Buffer }): Placed => ({
  ...row,
  hash: row.hash.toString('hex'),
})

/** Limit of one read. The record of a single event may be longer: 2 MiB, if long lists were changed. */
const mostBytes = 1024 * 1024

const withBytes = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('audit_log')
    .select(['seq', 'hash', 'record', sql<number>`sum(octet_length(record)) over (order by seq)`.as('bytes')])
    .where('tenant_id', '=', tenant)
    .orderBy('seq')

/** Returns the first events up to the limit of bytes, but at least one. */
async function firstOf(tx: Tx, q: ReturnType<typeof withBytes>): Promise<Placed[]> {
  const rows = await tx
    .selectFrom(q.as('next'))
    .select(['seq', 'hash', 'record'])
    .where(sql<boolean>`bytes - octet_length(record) < ${mostBytes}`)
    .orderBy('seq')
    .execute()
  return rows.map(placed)
}

/** Returns the next events, in order. Sequence numbers without an event, which retention deleted, are skipped. */
export function nextEvents(tx: Tx, tenant: TenantId, part: Part, limit: number): Promise<Placed[]> {
  let q = withBytes(tx, tenant).where('seq', '>', part.after_seq).limit(limit)
  if (part.until_seq !== null) q = q.where('seq', '<=', part.until_seq)
  if (part.from_at !== null) q = q.where('at', '>=', part.from_at)
  if (part.to_at !== null) q = q.where('at', '<', part.to_at)
  return firstOf(tx, q)
}

/** Returns the events with these sequence numbers that still exist, in order. If there are too many, the first ones. */
export const recordAt = (tx: Tx, tenant: TenantId, places: readonly number[]): Promise<Placed[]> =>
  firstOf(tx, withBytes(tx, tenant).where('seq', '=', sql<number>`any(${[...places]}::bigint[])`))

/** Returns the highest sequence number, or 0 if there is none. */
export async function lastPlace(tx: Tx, tenant: TenantId): Promise<number> {
  const head = await tx.selectFrom('audit_heads').select('seq').where('tenant_id', '=', tenant).executeTakeFirst()
  return head?.seq ?? 0
}

/** Largest difference between the clocks of a server, which dates events, and of the database, which sequences them. */
const clockDifferenceMs = 10 * minute
/** Limit of older events that are skipped at the beginning, to bound the read. More of them are sent again. */
const mostSkipped = 100_000

/**
 * Returns the sequence number from which a stream sends all events since a time, or undefined if there are none.
 * Sequence numbers follow commits, not the times of events: an event may come after any number of later ones. But no
 * event is sequenced before its time, so the search begins at the first event that was sequenced since then.
 */
export async function placeSince(tx: Tx, tenant: TenantId, since: Date): Promise<number | undefined> {
  const first = await firstSequencedSince(tx, tenant, new Date(since.getTime() - clockDifferenceMs))
  if (first === undefined) return undefined
  const { rows } = await sql<{ seq: number }>`
    select seq from (
      select seq, at from audit_log where tenant_id = ${tenant} and seq >= ${first} order by seq limit ${sql.lit(mostSkipped)}
    ) as next where at >= ${since} order by seq limit 1`.execute(tx)
  return rows[0]?.seq ?? (await nextPlace(tx, tenant, first + mostSkipped))
}

/** Binary search by sequence number: times of sequencing never decrease. Reads at most one row for each step. */
async function firstSequencedSince(tx: Tx, tenant: TenantId, since: Date): Promise<number | undefined> {
  let found: number | undefined
  // Events up to `low` were sequenced before. Those from `high` on were sequenced since, or do not exist.
  for (let low = 0, high = (await lastPlace(tx, tenant)) + 1; high - low > 1; ) {
    const middle = Math.floor((low + high) / 2)
    const row = await tx
      .selectFrom('audit_log')
      .select(['seq', sql<boolean>`sequenced_at >= ${since}`.as('is_since')])
      .where('tenant_id', '=', tenant)
      .where('seq', '>=', middle)
      .where('seq', '<', high)
      .orderBy('seq')
      .limit(1)
      .executeTakeFirst()
    if (row?.is_since === false) low = row.seq
    else {
      high = middle
      if (row) found = row.seq
    }
  }
  return found
}

const nextPlace = async (tx: Tx, tenant: TenantId, from: number): Promise<number | undefined> =>
  (
    await tx
      .selectFrom('audit_log')
      .select('seq')
      .where('tenant_id', '=', tenant)
      .where('seq', '>=', from)
      .orderBy('seq')
      .limit(1)
      .executeTakeFirst()
  )?.seq

/** Returns the first and last sequence number of the events in a period, and their number. Reads all of them. */
export async function recordRange(tx: Tx, tenant: TenantId, from: Date, to: Date) {
  const row = await tx
    .selectFrom('audit_log')
    .select((e) => [e.fn.min('seq').as('first'), e.fn.max('seq').as('last'), e.fn.countAll<number>().as('events')])
    .where('tenant_id', '=', tenant)
    .where('at', '>=', from)
    .where('at', '<', to)
    .executeTakeFirstOrThrow()
  return { after_seq: (row.first ?? 1) - 1, until_seq: row.last ?? 0, events: row.events }
}
