import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { ListPlace } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { earliestBehind, selectEventsAt, stretchWith } from './blocks.queries.ts'
import {
  allOf,
  behindSeq,
  comparePlace,
  type EventFilter,
  eventConditions,
  isPlaced,
  type Order,
  orderBy,
  othersOf,
  within,
} from './conditions.queries.ts'
import { pathsOf, placePath, rarestOf, windowPath } from './paths.queries.ts'

export type EventRow = { event_id: string; at_key: string; seq: number; record: string; hash: Buffer }
type Conditions = readonly RawBuilder<boolean>[]

/** Number of events that a walk visits for one page. Each may have to be searched. */
const walked = 4_000

/** The next events in the order that match one of `arms`. An index delivers them in that order. */
const along = (
  tenant: TenantId,
  arms: Conditions,
  conditions: Conditions,
  { order, most }: { order: Order; most: number },
) =>
  sql`select * from (${sql.join(
    arms.map(
      (arm) => sql`(select * from audit_log where tenant_id = ${tenant} and ${allOf([arm, ...conditions])}
        order by ${orderBy(order)} limit ${most})`,
    ),
    sql` union all `,
  )}) as arms order by ${orderBy(order)} limit ${most}`

/**
 * Reads at most `most` events after a position, and returns the position where it stopped searching. A page visits a
 * bounded number of events, however large the log is. A rare condition is served by its index. Otherwise the log is
 * walked in the order, along an index of one condition if there is one, and the other conditions filter the result.
 */
export async function readEvents(
  tx: Tx,
  tenant: TenantId,
  f: EventFilter,
  { order, after, most }: { order: Order; after: ListPlace | undefined; most: number },
): Promise<{ found: EventRow[]; end?: ListPlace | undefined }> {
  const isByTime = order.by === 'timestamp'
  const isBounded = { window: f.from !== undefined || f.to !== undefined, place: f.after_seq !== undefined }
  const columns = pathsOf(tenant, f)
  const walk = isByTime ? columns.find((path) => path.arms.length > 0) : undefined
  const arms = walk?.arms ?? [sql<boolean>`true`]
  /** The condition that bounds the other order. */
  const beside = isByTime ? isBounded.place && placePath(tenant, f) : isBounded.window && windowPath(tenant, f)
  const start = [...(after ? [comparePlace(order, '>', after)] : []), ...(isByTime ? [within(f)] : behindSeq(f))]
  const isServed = columns.every((path) => path === walk) && !beside && othersOf(f).length === 0
  const read = async (inner: RawBuilder<unknown>, conditions: Conditions) => {
    const { rows } = await sql<EventRow>`
      select event_id, cast(at as text) as at_key, seq, record, hash from (${inner}) as events
      where ${allOf(conditions)} order by ${orderBy(order)} limit ${most}`.execute(tx)
    return rows
  }
  if (isServed) return { found: await read(along(tenant, arms, [...start, isPlaced(tenant)], { order, most }), []) }

  const asked = [...eventConditions(f), within(f), ...behindSeq(f), isPlaced(tenant)]
  const rare = await rarestOf(tx, [...columns, ...(beside ? [beside] : [])])
  if (rare) return { found: await read(rare.events, [...asked, ...start]) }
  const stretch =
    f.terms || (!isByTime && isBounded.window) ? await stretchWith(tx, tenant, f, { order, after }) : undefined
  const earliest = isByTime && isBounded.place ? await earliestBehind(tx, tenant, f) : undefined
  if (earliest !== undefined) start.push(sql<boolean>`at >= cast(${earliest} as timestamptz)`)
  const end = stretch ? stretch.end : await endOf(tx, along(tenant, arms, start, { order, most: walked }), order)
  const bounded = [...start, ...(end ? [comparePlace(order, '<=', end)] : [])]
  // `end` bounds the walk. The limit only keeps the planner from moving the outer conditions into the walk, and leaves
  // space for events added since.
  const next = stretch
    ? sql`select * from (${selectEventsAt(tenant, stretch.ranges)}) as e where ${allOf(bounded)} order by ${orderBy(order)} limit ${4 * walked}`
    : along(tenant, arms, bounded, { order, most: 4 * walked })
  return { found: await read(next, asked), end }
}

/** Position at which a walk of full length ends, read from its index alone. Undefined if the log ends earlier. */
async function endOf(tx: Tx, walk: RawBuilder<unknown>, order: Order): Promise<ListPlace | undefined> {
  const place =
    order.by === 'seq' ? sql`cast(seq as text) as key, '' as tie` : sql`cast(at as text) as key, event_id as tie`
  const { rows } = await sql<{ key: string; tie: string }>`
    select ${place} from (${walk}) as walked order by ${orderBy(order)} offset ${walked - 1}`.execute(tx)
  const [last] = rows
  return last && [last.key, last.tie]
}

export const findEvent = (tx: Tx, tenant: TenantId, eventId: string) =>
  tx
    .selectFrom('audit_log')
    .select(['seq', 'record', 'hash'])
    .where('tenant_id', '=', tenant)
    .where('event_id', '=', eventId)
    .where(isPlaced(tenant))
    .executeTakeFirst()

export async function headSeqOf(tx: Tx, tenant: TenantId): Promise<number> {
  const row = await tx.selectFrom('audit_heads').select('seq').where('tenant_id', '=', tenant).executeTakeFirst()
  return row?.seq ?? 0
}

export async function eventsSince(tx: Tx, tenant: TenantId, after: number, kinds: readonly string[], most: number) {
  const head = await headSeqOf(tx, tenant)
  const from = (first: number) =>
    tx
      .selectFrom('audit_log')
      .where('tenant_id', '=', tenant)
      .where('seq', '>', first)
      .where('seq', '<=', head)
      .where(sql<boolean>`kind = any(${[...kinds]}::text[])`)
  if (head <= after) return { head, events: [], more: [] }
  const events = await from(after).select(['seq', 'kind', 'record']).orderBy('seq').limit(most).execute()
  const last = events.at(-1)
  if (events.length < most || !last) return { head, events, more: [] }
  const more = await from(last.seq).select('kind').distinct().execute()
  return { head, events, more: more.map((row) => row.kind) }
}
