import type { RetentionClass } from '@holdfast/contract/vocabulary'
import { type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import type { Tx } from './database.ts'
import { overBefore, thinBefore } from './kept.ts'
import type { Tables } from './tables/index.ts'

/** What of one tenant is forgotten: whether there is any of it, and how it goes, at most `limit` rows; says how many. */
export type Prune = {
  /** Where the tenant sets for how long it is kept: then a hold keeps it, and what goes stands on record. */
  kept?: {
    class: RetentionClass
    /** It goes a month at a time, unless the tenant itself set for how long. */
    isByMonths: boolean
    /** How many rows would go if what is older than `before` went, as far as `most`. */
    over: (tenant: TenantId, before: RawBuilder<Date>, most: number) => RawBuilder<number>
  }
  isDue: (tenant: TenantId) => RawBuilder<boolean>
  take: (tx: Tx, tenant: TenantId, limit: number) => Promise<number>
}

/**
 * Deletes what a condition fits. A row that is changed in between stays for the next run. A ctid is of one month alone:
 * where rows lie by months each has to fit by itself, and a few more than `limit` may go.
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

/** The same of what a tenant sets a period for: `isOver` says which rows go once what is older than a moment goes. */
export const purging = (
  name: RetentionClass,
  table: keyof Tables,
  isOver: (before: RawBuilder<Date>) => RawBuilder<unknown>,
  { isByMonths = false } = {},
): Prune & Required<Pick<Prune, 'kept'>> => ({
  kept: {
    class: name,
    isByMonths,
    over: (tenant, moment, most) =>
      sql<number>`(select count(*) from (
        select from ${sql.table(table)} where tenant_id = ${tenant} and ${isOver(moment)} limit ${most}) as over)`,
  },
  ...deleting(table, isOver(isByMonths ? thinBefore(name) : overBefore(name))),
})

/** For how long a class would be kept, and whether it is the tenant that says so. */
type Kept = { days: number; isOwn: boolean }
const beginning = ({ days, isOwn }: Kept, isByMonths: boolean): RawBuilder<Date> => {
  const moment = sql<Date>`now() - make_interval(days => ${days})`
  return isByMonths && !isOwn ? sql`(select date_trunc('month', ${moment}, 'UTC'))` : sql`(select ${moment})`
}

/** How many rows of each class would go now, if it were kept for so long, as far as `most`. */
export async function countOver(
  tx: Tx,
  tenant: TenantId,
  { prunes, keptFor, most }: { prunes: readonly Prune[]; keptFor: ReadonlyMap<RetentionClass, Kept>; most: number },
): Promise<Map<RetentionClass, number>> {
  const asked = prunes.flatMap(({ kept }) => {
    const period = kept && keptFor.get(kept.class)
    if (period === undefined) return []
    return [{ class: kept!.class, n: kept!.over(tenant, beginning(period, kept!.isByMonths), most) }]
  })
  const over = new Map<RetentionClass, number>()
  if (asked.length === 0) return over
  const { rows } = await sql<{ n: number[] }>`
    select array[${sql.join(asked.map((a) => a.n))}]::integer[] as n`.execute(tx)
  for (const [i, a] of asked.entries())
    over.set(a.class, Math.min((over.get(a.class) ?? 0) + (rows[0]?.n[i] ?? 0), most))
  return over
}
