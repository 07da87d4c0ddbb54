import { setTimeout as delay } from 'node:timers/promises'
import type { RetentionClass } from '@holdfast/contract/vocabulary'
import { type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { eachTenant } from '../kernel/each-tenant.ts'
import { second } from '../kernel/time.ts'
import { background, type Database, type Tx } from './database.ts'
import { admitPurge, judgePurge, notePurge, overBefore } from './kept.ts'
import { hasUnrecorded } from './purges.ts'
import type { Tables } from './tables/index.ts'

/** What of one tenant is forgotten: whether there is any of it, and how it goes, at most `limit` rows; says how many. */
export type Prune = {
  /** Where the tenant sets for how long it is kept: then a hold keeps it, and what goes stands on record. */
  kept?: {
    class: RetentionClass
    /** How many rows would go if what is older than `before` went, as far as `most`. */
    over: (tenant: TenantId, before: RawBuilder<Date>, most: number) => RawBuilder<number>
  }
  isDue: (tenant: TenantId) => RawBuilder<boolean>
  take: (tx: Tx, tenant: TenantId, limit: number) => Promise<number>
}

const batch = 1000
const batchesARun = 50

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
  before: RawBuilder<Date> = overBefore(name),
): Prune & Required<Pick<Prune, 'kept'>> => ({
  kept: {
    class: name,
    over: (tenant, moment, most) =>
      sql<number>`(select count(*) from (
        select from ${sql.table(table)} where tenant_id = ${tenant} and ${isOver(moment)} limit ${most}) as over)`,
  },
  ...deleting(table, isOver(before)),
})

/** How many rows of each class would go now, if it were kept for so many days, as far as `most`. */
export async function countOver(
  tx: Tx,
  tenant: TenantId,
  { prunes, daysOf, most }: { prunes: readonly Prune[]; daysOf: ReadonlyMap<RetentionClass, number>; most: number },
): Promise<Map<RetentionClass, number>> {
  const asked = prunes.flatMap(({ kept }) => {
    const days = kept && daysOf.get(kept.class)
    if (days === undefined) return []
    return [
      { class: kept!.class, n: kept!.over(tenant, sql<Date>`(select now() - make_interval(days => ${days}))`, most) },
    ]
  })
  const over = new Map<RetentionClass, number>()
  if (asked.length === 0) return over
  const { rows } = await sql<{ n: number[] }>`
    select array[${sql.join(asked.map((a) => a.n))}]::integer[] as n`.execute(tx)
  for (const [i, a] of asked.entries())
    over.set(a.class, Math.min((over.get(a.class) ?? 0) + (rows[0]?.n[i] ?? 0), most))
  return over
}

/** In the transaction that takes rows of a class it is noted that they went, for the record. */
async function takeSome(tx: Tx, tenant: TenantId, { kept, take }: Prune): Promise<number> {
  if (!kept) return take(tx, tenant, batch)
  await admitPurge(tx)
  const upTo = await judgePurge(tx, kept.class)
  if (upTo === null) return 0
  const rows = await take(tx, tenant, batch)
  if (rows > 0) await notePurge(tx, tenant, kept.class, { upTo, rows })
  return rows
}

/** Passes the tenant wall: tenants of which only the record is left. */
const selectErased = async (tx: Tx): Promise<TenantId[]> =>
  (
    await tx
      .selectFrom('tenants as t')
      .select('t.tenant_id')
      .where('t.erased_at', 'is not', null)
      .where((e) => e.exists(e.selectFrom('audit_log as l').whereRef('l.tenant_id', '=', 't.tenant_id')))
      .orderBy('t.tenant_id')
      .execute()
  ).map((t) => t.tenant_id)

type Forgotten = { isOnRecord: boolean; purged: Map<RetentionClass, number> }

/**
 * Forgets what nobody asks for any more of one tenant: in short transactions with a rest as long as each between them,
 * a bounded number of them a run, until the signal. Says how many rows of each class went.
 */
export const createForgetting = ({ db, prunes }: { db: Database; prunes: readonly Prune[] }) => {
  async function dueOf(tx: Tx, tenant: TenantId) {
    const { rows } = await sql<{ due: boolean[]; unrecorded: boolean }>`
      select array[${sql.join(prunes.map((p) => p.isDue(tenant)))}] as due,
        ${hasUnrecorded(tenant)} as unrecorded`.execute(tx)
    return { due: prunes.filter((_, i) => rows[0]?.due[i]), unrecorded: rows[0]?.unrecorded === true }
  }
  async function takeAll(tenant: TenantId, prune: Prune, signal?: AbortSignal): Promise<number> {
    let taken = 0
    for (let i = 0; i < batchesARun; i++) {
      const since = performance.now()
      const rows = await db.inTenant(tenant, (tx) => takeSome(tx, tenant, prune), background)
      taken += rows
      if (rows < batch) return taken
      await delay(Math.min(performance.now() - since, second), undefined, signal && { signal })
    }
    return taken
  }
  return async (tenant: TenantId, signal?: AbortSignal): Promise<Forgotten> => {
    const { due, unrecorded } = await db.inTenant(tenant, (tx) => dueOf(tx, tenant), background)
    const purged: Forgotten['purged'] = new Map()
    for (const prune of due) {
      signal?.throwIfAborted()
      const rows = await takeAll(tenant, prune, signal)
      if (prune.kept && rows > 0) purged.set(prune.kept.class, (purged.get(prune.kept.class) ?? 0) + rows)
    }
    return { isOnRecord: !unrecorded && !due.some((p) => p.kept), purged }
  }
}

/**
 * The same of every tenant. Of most there is nothing, which is one question. `recordPurges` puts on record what went,
 * also what a run that was cut off took; an erased tenant has a record no more.
 */
export const createRetention = ({
  db,
  tenants,
  prunes,
  recordPurges,
}: {
  db: Database
  tenants: () => Promise<readonly TenantId[]>
  prunes: readonly Prune[]
  recordPurges: (tenant: TenantId) => Promise<void>
}) => {
  const forget = createForgetting({ db, prunes })

  return async (): Promise<void> => {
    await eachTenant(await tenants(), async (tenant) => {
      if (!(await forget(tenant)).isOnRecord) await recordPurges(tenant)
    })
    await eachTenant(await db.acrossTenants(selectErased, background), async (tenant) => void (await forget(tenant)))
  }
}
