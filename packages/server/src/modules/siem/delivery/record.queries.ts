import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

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

/**
 * Number of consecutive events by time in which the lowest sequence number is searched, because sequence numbers follow
 * commits, not the clock.
 */
const looked = sql.lit(1000)
/** Returns the first sequence number of events since a time, or undefined if there are none. */
export async function placeSince(tx: Tx, tenant: TenantId, since: Date): Promise<number | undefined> {
  const { rows } = await sql<{ seq: number | null }>`
    select min(seq) as seq from (
      select seq from audit_log where tenant_id = ${tenant} and at >= ${since} order by at, event_id limit ${looked}
    ) as first`.execute(tx)
  return rows[0]?.seq ?? undefined
}

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
