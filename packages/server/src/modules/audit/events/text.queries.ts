import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { Place } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { wordsOf } from '../../../kernel/words.ts'
import { blockPlaces, unread } from '../words/words.queries.ts'
import type { Filter } from './conditions.queries.ts'
import type { Order } from './order.queries.ts'

/** How many blocks a page looks into. */
const most = 4

/** Where words stand: ranges of places, and up to where in the order nothing that fits stands anywhere else. */
type Stretch = { ranges: readonly (readonly [first: number, last: number])[]; end?: Place | undefined }

/**
 * The next blocks in an order with all words of a text, and the places that are in no block yet. Undefined where that
 * gets nobody further: with much that no index has yet, or in a time in which more blocks than these overlap.
 */
export async function stretchWith(
  tx: Tx,
  tenant: TenantId,
  { terms = [], from, to }: Filter,
  { order, after }: { order: Order; after: Place | undefined },
): Promise<Stretch | undefined> {
  const tail = await unread(tx, tenant)
  if (tail.head - tail.block * blockPlaces > most * blockPlaces) return undefined
  const { near, far, isAhead } = sidesOf(order)
  const at = after && (order.by === 'seq' ? sql`cast(${after[0]} as bigint)` : sql`cast(${after[0]} as timestamptz)`)
  const { rows } = await sql<{ block: number; key: string; is_further: boolean }>`
    select block, cast(${near} as text) as key, ${at ? isAhead(at, near) : sql`true`} as is_further
    from audit_blocks_with(${terms.flatMap(wordsOf)}::text[])
    where block < ${tail.block} and ${at ? sql`(${isAhead(at, far)} or ${far} = ${at})` : sql`true`}
      and ${from ? sql`last_at >= ${from}` : sql`true`} and ${to ? sql`first_at < ${to}` : sql`true`}
    order by ${near} ${sql.raw(order.descending ? 'desc' : 'asc')} limit ${most + 1}`.execute(tx)
  const next = rows[most]
  if (next && !next.is_further) return undefined
  const ranges = rows.slice(0, most).map(({ block }) => [block * blockPlaces + 1, (block + 1) * blockPlaces] as const)
  return {
    ranges: [...ranges, [tail.block * blockPlaces + 1, tail.head]],
    end: next && [next.key, order.descending ? lastTie : firstTie],
  }
}

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

/** The events at these places. In the order of one index, so that it is that one which is asked. */
export const eventsAt = (tenant: TenantId, { ranges }: Stretch) =>
  sql.join(
    ranges.map(
      ([first, last]) => sql`(select * from audit_log where tenant_id = ${tenant} and seq between ${first} and ${last}
        order by seq limit ${most * blockPlaces})`,
    ),
    sql` union all `,
  )
