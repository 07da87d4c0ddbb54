import { type Expression, type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { encodeId } from '../kernel/ids.ts'
import { createRecent } from '../kernel/recent.ts'
import { second } from '../kernel/time.ts'
import type { Tx } from './database.ts'
import { findNames } from './names.ts'

/** Time for which a count is served from the cache. */
const freshMs = 5 * second

/** Number of things with a value of a facet. Facet `total` counts all. */
export type FacetRow = { facet: string; value: string; count: number }
type Total = { count: number; exact: boolean }

/** Caches a read for some seconds per tenant and filter, in the contract's form of the filter. */
export function createCounts<F extends object, T>(read: (tenant: TenantId, filter: F) => Promise<T>, now: () => Date) {
  const recent = createRecent<T, string>({
    read: (key) => read(...(JSON.parse(key) as [TenantId, F])),
    freshMs,
    now,
  })
  return (tenant: TenantId, filter: F): Promise<T> =>
    recent(JSON.stringify([tenant, Object.fromEntries(Object.entries(filter).sort())]))
}

/** Counts the rows of a query. */
export async function countRows(tx: Tx, matched: Expression<unknown>): Promise<number> {
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
