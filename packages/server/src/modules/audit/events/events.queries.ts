import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { few, type Place } from '../../../db/page.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { allOf, behindSeq, type Filter, othersOf, type Path, pathsOf, within } from './conditions.queries.ts'
import { compare, type Order, orderBy } from './order.queries.ts'
import { eventsAt, stretchWith } from './text.queries.ts'

export type Row = { event_id: string; at_key: string; seq: number; record: string; hash: Buffer }
type Conditions = readonly RawBuilder<boolean>[]

/** How many events a page of a walk looks at: each of them may be looked through. */
const walked = 4_000

/** Of what an index serves the rarest, where it fits few. */
export async function rarestOf(tx: Tx, paths: readonly Path[]): Promise<Path | undefined> {
  if (paths.length === 0) return undefined
  const counts = paths.map(({ moments }) => sql`(select count(*) from (${moments}) as moments)`)
  const { rows } = await sql<{ counts: number[] }>`select array[${sql.join(counts)}]::int[] as counts`.execute(tx)
  const found = rows[0]?.counts ?? []
  const least = Math.min(...found)
  return least <= few ? paths[found.indexOf(least)] : undefined
}

/** All that a rare path finds within the window, and what happened in the same moments. */
export const rareEvents = (tenant: TenantId, { arms, moments }: Path, f: Filter) =>
  arms.length > 0
    ? along(tenant, arms, [within(f)], { order: { by: 'timestamp', descending: false }, most: few + 1 })
    : sql`select * from audit_log where tenant_id = ${tenant} and at = any(array(${moments})) and ${within(f)}`

/** The next events in an order, of those that one of these conditions fits; an index gives them in that order. */
export const along = (
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
 * What comes after a place, no more than so many, and where it looked no further: a page looks at a bounded number of
 * events, however many there are. What fits few is found by its index; else the order is walked, along an index of what
 * is asked for where there is one, and the rest is looked for in what that finds.
 */
export async function readEvents(
  tx: Tx,
  tenant: TenantId,
  f: Filter,
  { order, after, most }: { order: Order; after: Place | undefined; most: number },
): Promise<{ found: Row[]; end?: Place | undefined }> {
  const paths = pathsOf(tenant, f)
  const isByTime = order.by === 'timestamp'
  const arms = (isByTime && paths.find((path) => path.arms.length > 0)?.arms) || [sql<boolean>`true`]
  const served = paths.length === 0 || (isByTime && paths.length === 1 && paths[0]?.arms === arms)
  const [bounds, beside] = isByTime ? [[within(f)], behindSeq(f)] : [behindSeq(f), windowOf(f)]
  const others = [...othersOf(f), ...beside]
  const start = [...(after ? [compare(order, '>', after)] : []), ...bounds]
  const read = async (inner: RawBuilder<unknown>, conditions: Conditions) => {
    const { rows } = await sql<Row>`
      select event_id, cast(at as text) as at_key, seq, record, hash from (${inner}) as events
      where ${allOf(conditions)} order by ${orderBy(order)} limit ${most}`.execute(tx)
    return rows
  }
  if (served && others.length === 0) return { found: await read(along(tenant, arms, start, { order, most }), []) }

  const asked = [...paths.map((path) => path.condition), ...others]
  const rare = await rarestOf(tx, paths)
  if (rare) return { found: await read(rareEvents(tenant, rare, f), [...asked, ...start]) }
  const stretch = f.terms && (await stretchWith(tx, tenant, f, { order, after }))
  const end = stretch ? stretch.end : await endOf(tx, along(tenant, arms, start, { order, most: walked }), order)
  const bounded = [...start, ...(end ? [compare(order, '<=', end)] : [])]
  // The bound counts; the number only keeps others of their conditions out of the walk, and what came since within it.
  const next = stretch
    ? sql`select * from (${eventsAt(tenant, stretch)}) as e where ${allOf(bounded)} order by ${orderBy(order)} limit ${4 * walked}`
    : along(tenant, arms, bounded, { order, most: 4 * walked })
  return { found: await read(next, asked), end }
}

const windowOf = (f: Filter): Conditions => (f.from || f.to ? [within(f)] : [])

/** Where a walk of its whole length ends, by its index alone; undefined where the log ends before. */
async function endOf(tx: Tx, walk: RawBuilder<unknown>, order: Order): Promise<Place | undefined> {
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
    .executeTakeFirst()
