import type { RetentionClass } from '@holdfast/contract/vocabulary'
import { type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import type { Tx } from './database.ts'
import { overBefore, thinBefore } from './kept.ts'
import type { Tables } from './tables/index.ts'

/**
 * A kind of expired data of one tenant. `isDue` is true if there is any; `take` deletes at most `limit` rows and
 * returns their number.
 */
export type Prune = {
  /**
   * Set if the tenant configures the retention period. Then legal holds apply, and purges are written to the audit log.
   */
  kept?: {
    class: RetentionClass
    /** True if data is deleted by months, unless the tenant itself sets the period. */
    isByMonths: boolean
    /** Counts the rows older than `before`, up to `most`. */
    over: (tenant: TenantId, before: RawBuilder<Date>, most: number) => RawBuilder<number>
  }
  isDue: (tenant: TenantId) => RawBuilder<boolean>
  take: (tx: Tx, tenant: TenantId, limit: number) => Promise<number>
}

/**
 * Deletes rows that meet a condition. A row that changes meanwhile stays for the next run. A ctid is unique only within
 * a partition, so in partitioned tables the condition is checked again, and slightly more than `limit` rows may be
 * deleted.
 */
export const deleting = (table: keyof Tables, condition: RawBuilder<unknown>): Prune => ({
  isDue: (tenant) =>
    sql<boolean>`exists (select from ${sql.table(table)} where tenant_id = ${tenant} and ${condition})`,
  take: async (tx, tenant, limit) => {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where tenant_id = ${tenant} and ${condition} and ctid = any(array(
        select ctid from ${sql.table(table)} where tenant_id = ${tenant} and ${condition} limit ${limit}))`.execute(tx)
    return Number(numAffectedRows ?? 0)
  },
})

/** The same for data with a configurable period. `isOver` is the condition of rows that expire at a given time. */
export const purging = (
  name: RetentionClass,
  table: keyof Tables,
  isOver: (before: RawBuilder<Date>) => RawBuilder<unknown>,
  { isByMonths = false } = {},
): Prune & Required<Pick<Prune, 'kept'>> => ({
  kept: {
    class: name,
    isByMonths,
    over: (tenant, before, most) =>
      sql<number>`(select count(*) from (
        select from ${sql.table(table)} where tenant_id = ${tenant} and ${isOver(before)} limit ${most}) as over)`,
  },
  ...deleting(table, isOver(isByMonths ? thinBefore(name) : overBefore(name))),
})

/** Retention period of a class, and whether the tenant itself sets it. */
type Kept = { days: number; isOwn: boolean }
const beginning = ({ days, isOwn }: Kept, isByMonths: boolean): RawBuilder<Date> => {
  const before = sql<Date>`now() - make_interval(days => ${days})`
  return isByMonths && !isOwn ? sql`(select date_trunc('month', ${before}, 'UTC'))` : sql`(select ${before})`
}

/** Counts the rows of each class that would be deleted now under these periods, up to `most`. */
export async function countOver(
  tx: Tx,
  tenant: TenantId,
  { prunes, keptFor, most }: { prunes: readonly Prune[]; keptFor: ReadonlyMap<RetentionClass, Kept>; most: number },
): Promise<Map<RetentionClass, number>> {
  const pruneRequests = prunes.flatMap(({ kept }) => {
    const period = kept && keptFor.get(kept.class)
    if (period === undefined) return []
    return [{ class: kept!.class, n: kept!.over(tenant, beginning(period, kept!.isByMonths), most) }]
  })
  const over = new Map<RetentionClass, number>()
  if (pruneRequests.length === 0) return over
  const { rows } = await sql<{ n: number[] }>`
    select array[${sql.join(pruneRequests.map((a) => a.n))}]::integer[] as n`.execute(tx)
  for (const [i, a] of pruneRequests.entries())
    over.set(a.class, Math.min((over.get(a.class) ?? 0) + (rows[0]?.n[i] ?? 0), most))
  return over
}
