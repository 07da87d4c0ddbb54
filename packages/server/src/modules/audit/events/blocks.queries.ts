import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { ListPlace } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { blockPlaces, unread } from '../words/words.queries.ts'
import { wordsOf } from '../words/words.ts'
import type { Order } from './conditions.queries.ts'
import { behindSeq, type EventFilter } from './conditions.queries.ts'

/** Maximum number of blocks read for a page. */
const most = 4

export type Range = readonly [first: number, last: number]
/** Ranges of sequence numbers that may hold matches. Up to `end`, in the order, no match lies outside them. */
type Stretch = { ranges: readonly Range[]; end?: ListPlace | undefined }

/** Blocks that may hold matches, selected by words and by time range. */
const blocksFor = (tenant: TenantId, { terms, from, to }: EventFilter, before: number) =>
  sql`${terms ? sql`audit_blocks_with(${terms.flatMap(wordsOf)}::text[])` : sql`(select block, first_at, last_at from audit_words where tenant_id = ${tenant}) as b`}
    where block < ${before} and ${from ? sql`last_at >= ${from}` : sql`true`} and ${to ? sql`first_at < ${to}` : sql`true`}`
const rangeOf = (block: number): Range => [block * blockPlaces + 1, (block + 1) * blockPlaces]

/**
 * Finds the next blocks in the order that may hold matches, and the events that are in no block yet. Undefined if this
 * makes no progress: too many events are not indexed yet, or too many blocks overlap in time.
 */
export async function stretchWith(
  tx: Tx,
  tenant: TenantId,
  f: EventFilter,
  { order, after }: { order: Order; after: ListPlace | undefined },
): Promise<Stretch | undefined> {
  const tail = await unread(tx, tenant)
  if (tail.head - tail.block * blockPlaces > most * blockPlaces) return undefined
  const { near, far, isAhead } = sidesOf(order)
  const at = after && (order.by === 'seq' ? sql`cast(${after[0]} as bigint)` : sql`cast(${after[0]} as timestamptz)`)
  const { rows } = await sql<{ block: number; key: string; is_further: boolean }>`
    select block, cast(${near} as text) as key, ${at ? isAhead(at, near) : sql`true`} as is_further
    from ${blocksFor(tenant, f, tail.block)} and ${at ? sql`(${isAhead(at, far)} or ${far} = ${at})` : sql`true`}
    order by ${order.by === 'seq' ? sql`block` : near} ${sql.raw(order.descending ? 'desc' : 'asc')} limit ${most + 1}`.execute(
    tx,
  )
  const next = rows[most]
  if (next && !next.is_further) return undefined
  const ranges = [...rows.slice(0, most).map(({ block }) => rangeOf(block)), tailOf(tail)]
  const end: ListPlace | undefined = next && [next.key, order.descending ? lastTie : firstTie]
  if (order.by === 'timestamp') return { ranges, end }
  const behind = after && Number(after[0])
  const upTo = end && Number(end[0])
  return {
    ranges: order.descending
      ? between(ranges, upTo ?? 1, (behind ?? tail.head + 1) - 1)
      : between(ranges, (behind ?? 0) + 1, upTo ?? tail.head),
    end,
  }
}
const tailOf = ({ block, head }: { block: number; head: number }): Range => [block * blockPlaces + 1, head]

/** Clips the ranges to `first`…`last`. */
export const between = (ranges: readonly Range[], first: number, last: number): readonly Range[] =>
  ranges.flatMap(([a, b]): Range[] => {
    const [from, to] = [Math.max(a, first), Math.min(b, last)]
    return from <= to ? [[from, to]] : []
  })

/** Smaller and greater than every tie. */
const firstTie = '00000000-0000-0000-0000-000000000000'
const lastTie = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Near and far end of a block in the order, and the comparison of two positions in it. */
function sidesOf({ by, descending }: Order) {
  const [first, last] =
    by === 'seq' ? [sql`block * ${blockPlaces}`, sql`(block + 1) * ${blockPlaces} + 1`] : [sql`first_at`, sql`last_at`]
  const isAhead = (one: RawBuilder<unknown>, other: RawBuilder<unknown>) =>
    descending ? sql<boolean>`${one} > ${other}` : sql<boolean>`${one} < ${other}`
  return descending ? { near: last, far: first, isAhead } : { near: first, far: last, isAhead }
}

/** All ranges of sequence numbers that may hold matches, without a limit. */
export async function rangesWith(tx: Tx, tenant: TenantId, f: EventFilter): Promise<Range[]> {
  const tail = await unread(tx, tenant)
  const { rows } = await sql<{ block: number }>`
    select block from ${blocksFor(tenant, f, tail.block)} order by block`.execute(tx)
  return [...rows.map(({ block }) => rangeOf(block)), tailOf(tail)]
}

/** Events in these ranges. Each part is ordered by `seq`, so that the planner uses the index on it. */
export const selectEventsAt = (tenant: TenantId, ranges: readonly Range[]) =>
  sql.join(
    (ranges.length > 0 ? ranges : [[1, 0] as const]).map(
      ([first, last]) => sql`(select * from audit_log where tenant_id = ${tenant} and seq between ${first} and ${last}
        order by seq limit ${Math.max(0, last - first + 1)})`,
    ),
    sql` union all `,
  )

/**
 * Lower bound for the time of the events after `after_seq`. Undefined if there are none, or if too many events are not
 * indexed yet.
 */
export async function earliestBehind(tx: Tx, tenant: TenantId, f: EventFilter): Promise<string | undefined> {
  const tail = await unread(tx, tenant)
  if (tail.head - tail.block * blockPlaces > most * blockPlaces) return undefined
  const { rows } = await sql<{ earliest: string | null }>`
    select cast(least(
      (select min(first_at) from audit_words where tenant_id = ${tenant}
        and block >= ${Math.floor((f.after_seq ?? 0) / blockPlaces)} and block < ${tail.block}),
      (select min(at) from (select at from audit_log where tenant_id = ${tenant} and seq > ${tail.block * blockPlaces}
        and ${behindSeq(f)[0] ?? sql`true`} order by seq limit ${most * blockPlaces}) as tail)) as text) as earliest`.execute(
    tx,
  )
  return rows[0]?.earliest ?? undefined
}
