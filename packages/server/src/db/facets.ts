import { type Expression, type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { encodeId } from '../kernel/ids.ts'
import { second } from '../kernel/time.ts'
import type { Tx } from './database.ts'
import { findNames } from './names.ts'
import { createReadCache } from './read-cache.ts'

/** Time for which a count is served from the cache. */
const freshMs = 5 * second

/** Number of things with a value of a facet. Facet `total` counts all. */
export type FacetRow = { facet: string; value: string; count: number }
type Total = { count: number; exact: boolean }

/** Caches a read for some seconds per tenant and filter, in the contract's form of the filter. */
export function createCounts<F extends object, T>(read: (tenant: TenantId, filter: F) => Promise<T>, now: () => Date) {
  const recent = createReadCache<T, string>({
    read: (key) => read(...(JSON.parse(key) as [TenantId, F])),
    freshMs,
    now,
  })
  return (tenant: TenantId, filter: F): Promise<T> =>
    recent(JSON.stringify([tenant, Object.fromEntries(Object.entries(filter).sort())]))
}

/**
 * Makes the planner join by hash, until the end of the transaction. A count looks up some thousand rows by an array of
 * IDs, for which the planner expects ten. Nested loops over them would take millions of steps.
 */
const joinByHash = (tx: Tx) => sql`select set_config('enable_nestloop', 'off', true)`.execute(tx)

/** Counts the rows of a query. */
export async function countRows(tx: Tx, matched: Expression<unknown>): Promise<number> {
  await joinByHash(tx)
  const { rows } = await sql<{ n: number }>`select count(*) as n from (${matched}) as matched`.execute(tx)
  return rows[0]?.n ?? 0
}

/**
 * Counts the rows of a query as facet `total`, and per value of the other facets, for the `mostValues` most frequent
 * values of each. `counted` selects facet, value and count from `matched`.
 */
export async function countByFacet(
  tx: Tx,
  matched: Expression<unknown>,
  counted: RawBuilder<unknown>,
  mostValues: number,
): Promise<FacetRow[]> {
  await joinByHash(tx)
  const { rows } = await sql<FacetRow>`
    with matched as materialized (${matched}),
    counted (facet, value, count) as (
      ${counted}
      union all
      select 'total', '', count(*) from matched),
    ranked as (
      select c.*, row_number() over (partition by c.facet order by c.count desc, c.value) as rank from counted c)
    select facet, value, count from ranked where rank <= ${mostValues} order by facet, rank`.execute(tx)
  return rows
}

/** Maximum number of rows counted exactly. More are estimated. */
export const countedExactly = 10_000
/** Maximum number of rows examined for facets, each in several tables. */
const mostExamined = 5_000
/** IDs of rows to examine, and the number of rows that each of them represents. */
export type Chosen = { ids: RawBuilder<unknown>; each: number }

/**
 * Chooses the first set of candidates with at most `countedExactly` rows, read once in its index. Each set includes all
 * matches of a filter. `thin` leaves out rows of a large set at even distances, for facets. Undefined if no set is
 * small.
 */
export async function chooseCandidates(
  tx: Tx,
  sets: readonly RawBuilder<unknown>[],
  thin: boolean,
): Promise<Chosen | undefined> {
  for (const set of sets) {
    const { n, candidates, found } = await readSet(tx, set)
    if (n > countedExactly) continue
    const each = thin ? Math.max(1, Math.ceil(candidates / mostExamined)) : 1
    const ids = sql`select id::uuid as found from unnest(string_to_array(${found}, ',')) with ordinality as listed (id, n)
      where n % ${each} = 0`
    return { ids, each }
  }
  return undefined
}

/**
 * Counts the rows of a set and the candidates in them, and returns the IDs as one text if there are not too many. A set
 * may contain a candidate twice, and rows without one. A set that needs a look-up for each of its rows costs as much as
 * the examination of them, so it is not evaluated again.
 */
async function readSet(tx: Tx, set: RawBuilder<unknown>): Promise<FoundSet> {
  const { rows } = await sql<FoundSet>`
    select count(*) as n, count(distinct found) as candidates,
      case when count(*) <= ${countedExactly} then string_agg(distinct found::text, ',') end as found
    from (${set}) as fitting`.execute(tx)
  return rows[0] ?? { n: 0, candidates: 0, found: null }
}
type FoundSet = { n: number; candidates: number; found: string | null }

/** Number of pages in a sample of a table, each with some 20 rows. */
const sampledPages = 150
/**
 * Selects IDs of a tenant from a sample of the table's pages, the same pages each time, so that an estimate changes
 * only with the table. `each` is the number of rows that an ID represents.
 */
export async function sampleTable(tx: Tx, tenant: TenantId, table: 'devices' | 'users', id: string): Promise<Chosen> {
  const { rows } = await sql<{ pages: number }>`
    select greatest(pg_relation_size(${table}::regclass) / current_setting('block_size')::int, 1)::float8 as pages`.execute(
    tx,
  )
  const share = Math.min(1, sampledPages / rows[0]!.pages)
  const ids = sql`select ${sql.ref(id)} as found from ${sql.table(table)}
    tablesample system (${share * 100}::float8) repeatable (1) where tenant_id = ${tenant}`
  return { ids, each: 1 / share }
}

/** Scales the count of a sample in which each row stands for `each` things. A count with `each` = 1 is exact. */
export const totalOf = (count: number, each: number): Total => ({ count: Math.round(count * each), exact: each === 1 })

/** Returns facets in the contract's form; groups get their names. */
export async function viewFacets<const N extends readonly string[]>(
  tx: Tx,
  tenant: TenantId,
  facets: N,
  { rows, each, at }: { rows: readonly FacetRow[]; each: number; at: Date },
) {
  const names = await findNames(tx, tenant, { group: rows.filter((r) => r.facet === 'group_id').map((r) => r.value) })
  const valuesOf = (facet: string) =>
    rows
      .filter((r) => r.facet === facet)
      .map(({ value, count }) => ({
        value: facet === 'group_id' ? encodeId('group', value) : value,
        name: facet === 'group_id' ? names.of('group', value) : null,
        count: Math.round(count * each),
      }))
  return {
    total: totalOf(rows.find((r) => r.facet === 'total')?.count ?? 0, each),
    counted_at: at.toISOString(),
    facets: Object.fromEntries(facets.map((facet) => [facet, valuesOf(facet)])) as {
      [F in N[number]]: ReturnType<typeof valuesOf>
    },
  }
}
