import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { Place } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { wordsOf } from '../../../kernel/words.ts'
import { blockPlaces, unread } from '../words/words.queries.ts'
import { behindSeq, type Filter } from './conditions.queries.ts'
import type { Order } from './order.queries.ts'

/** How many blocks a page looks into. */
const most = 4

export type Range = readonly [first: number, last: number]
/** Places that may fit, and up to where in the order nothing that fits stands anywhere else. */
type Stretch = { ranges: readonly Range[]; end?: Place | undefined }

/** Blocks in which something may fit: by their words, and by when what is in them happened. */
const blocksFor = (tenant: TenantId, { terms, from, to }: Filter, before: number) =>
  sql`${terms ? sql`audit_blocks_with(${terms.flatMap(wordsOf)}::text[])` : sql`(select block, first_at, last_at from audit_words where tenant_id = ${tenant}) as b`}
    where block < ${before} and ${from ? sql`last_at >= ${from}` : sql`true`} and ${to ? sql`first_at < ${to}` : sql`true`}`
const rangeOf = (block: number): Range => [block * blockPlaces + 1, (block + 1) * blockPlaces]

/**
 * The next blocks in an order in which something may fit, and the places that are in no block yet. Undefined where that
 * gets nobody further: with much that no index has yet, or in a time in which more blocks than these overlap.
 */
export async function stretchWith(
  tx: Tx,
  tenant: TenantId,
  f: Filter,
  { order, after }: { order: Order; after: Place | undefined },
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
  const end: Place | undefined = next && [next.key, order.descending ? lastTie : firstTie]
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

/** What of these ranges lies between two places. */
export const between = (ranges: readonly Range[], first: number, last: number): readonly Range[] =>
  ranges.flatMap(([a, b]): Range[] => {
    const [from, to] = [Math.max(a, first), Math.min(b, last)]
    return from <= to ? [[from, to]] : []
  })

/** Before and after all ties. */
const firstTie = '00000000-0000-0000-0000-000000000000'
const lastTie = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Where a block begins and ends in an order, and whether one moment or place comes before another in it. */
function sidesOf({ by, descending }: Order) {
  const [first, last] =
    by === 'seq' ? [sql`block * ${blockPlaces}`, sql`(block + 1) * ${blockPlaces} + 1`] : [sql`first_at`, sql`last_at`]
  const isAhead = (one: RawBuilder<unknown>, other: RawBuilder<unknown>) =>
    descending ? sql<boolean>`${one} > ${other}` : sql<boolean>`${one} < ${other}`
  return descending ? { near: last, far: first, isAhead } : { near: first, far: last, isAhead }
}

/** All places in which something may fit, however many. */
export async function rangesWith(tx: Tx, tenant: TenantId, f: Filter): Promise<Range[]> {
  const tail = await unread(tx, tenant)
  const { rows } = await sql<{ block: number }>`
    select block from ${blocksFor(tenant, f, tail.block)} order by block`.execute(tx)
  return [...rows.map(({ block }) => rangeOf(block)), tailOf(tail)]
}

/** The events at these places. In the order of one index, so that it is that one which is asked. */
export const eventsAt = (tenant: TenantId, ranges: readonly Range[]) =>
  sql.join(
    (ranges.length > 0 ? ranges : [[1, 0] as const]).map(
      ([first, last]) => sql`(select * from audit_log where tenant_id = ${tenant} and seq between ${first} and ${last}
        order by seq limit ${Math.max(0, last - first + 1)})`,
    ),
    sql` union all `,
  )

/**
 * Nothing that has its place after one happened before this moment; undefined where that is not known, with much that
 * no index has yet.
 */
export async function earliestBehind(tx: Tx, tenant: TenantId, f: Filter): Promise<string | undefined> {
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
