import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Which events of the record: those after a place, of an export up to another and of its time. */
type Part = { after_seq: number; until_seq: number | null; from_at: Date | null; to_at: Date | null }

/** An event in its place, its hash in hexadecimal. */
type Placed = { seq: number; hash: string; record: string }
const placed = (row: Omit<Placed, 'hash'> & { hash: Buffer }): Placed => ({
  ...row,
  hash: row.hash.toString('hex'),
})

/** Of all that is read at once. The record of one event may be longer: 2 MiB, of long lists that were changed. */
const mostBytes = 1024 * 1024

const withBytes = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('audit_log')
    .select(['seq', 'hash', 'record', sql<number>`sum(octet_length(record)) over (order by seq)`.as('bytes')])
    .where('tenant_id', '=', tenant)
    .orderBy('seq')

/** The first of them, no more once they are of so many bytes: at least one. */
async function firstOf(tx: Tx, q: ReturnType<typeof withBytes>): Promise<Placed[]> {
  const rows = await tx
    .selectFrom(q.as('next'))
    .select(['seq', 'hash', 'record'])
    .where(sql<boolean>`bytes - octet_length(record) < ${mostBytes}`)
    .orderBy('seq')
    .execute()
  return rows.map(placed)
}

/** The next events, in order. Places that retention has emptied are passed over. */
export function nextEvents(tx: Tx, tenant: TenantId, part: Part, limit: number): Promise<Placed[]> {
  let q = withBytes(tx, tenant).where('seq', '>', part.after_seq).limit(limit)
  if (part.until_seq !== null) q = q.where('seq', '<=', part.until_seq)
  if (part.from_at !== null) q = q.where('at', '>=', part.from_at)
  if (part.to_at !== null) q = q.where('at', '<', part.to_at)
  return firstOf(tx, q)
}

/** Those at these places that are still on record, in order; of many the first ones. */
export const eventsAt = (tx: Tx, tenant: TenantId, places: readonly number[]): Promise<Placed[]> =>
  firstOf(tx, withBytes(tx, tenant).where('seq', '=', sql<number>`any(${[...places]}::bigint[])`))

/** The last place there is; 0 where there is none. */
export async function lastPlace(tx: Tx, tenant: TenantId): Promise<number> {
  const head = await tx.selectFrom('audit_heads').select('seq').where('tenant_id', '=', tenant).executeTakeFirst()
  return head?.seq ?? 0
}

/** How many events in a row of time are looked at for the first place: places follow commits, not the clock. */
const looked = sql.lit(1000)
/** The first place of what happened since; undefined where nothing did. */
export async function placeSince(tx: Tx, tenant: TenantId, since: Date): Promise<number | undefined> {
  const { rows } = await sql<{ seq: number | null }>`
    select min(seq) as seq from (
      select seq from audit_log where tenant_id = ${tenant} and at >= ${since} order by at, event_id limit ${looked}
    ) as first`.execute(tx)
  return rows[0]?.seq ?? undefined
}

/** First and last place of what happened in a time, and how many events that are. Reads all of them. */
export async function rangeOf(tx: Tx, tenant: TenantId, from: Date, to: Date) {
  const row = await tx
    .selectFrom('audit_log')
    .select((e) => [e.fn.min('seq').as('first'), e.fn.max('seq').as('last'), e.fn.countAll<number>().as('events')])
    .where('tenant_id', '=', tenant)
    .where('at', '>=', from)
    .where('at', '<', to)
    .executeTakeFirstOrThrow()
  return { after_seq: (row.first ?? 1) - 1, until_seq: row.last ?? 0, events: row.events }
}
