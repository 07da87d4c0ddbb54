import { type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { eachTenant } from '../kernel/each-tenant.ts'
import { background, type Database, type Tx } from './database.ts'
import { admitPurge, type Kept, notePurge } from './kept.ts'
import { hasUnrecorded } from './purges.ts'
import type { Tables } from './tables/index.ts'

/** What of one tenant is forgotten: whether there is any of it, and how it goes, at most `limit` rows; says how many. */
export type Prune = {
  /** The class that it is of, if the tenant sets for how long that is kept: then a hold keeps it, and it goes on record. */
  kept?: Kept
  isDue: (tenant: TenantId) => RawBuilder<boolean>
  take: (tx: Tx, tenant: TenantId, limit: number) => Promise<number>
}

const batch = 1000
const batchesARun = 50

/** Rows of a table that a condition fits. */
export const dueIn = (table: keyof Tables, tenant: TenantId, condition: RawBuilder<unknown>) =>
  sql<boolean>`exists (select from ${sql.table(table)} where tenant_id = ${tenant} and ${condition})`

/** Deletes what a condition fits. A row that is changed in between stays for the next run. */
export const deleting = (table: keyof Tables, condition: RawBuilder<unknown>, kept?: Kept): Prune => ({
  ...(kept && { kept }),
  isDue: (tenant) => dueIn(table, tenant, condition),
  take: async (tx, tenant, limit) => {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where tenant_id = ${tenant} and ctid = any(array(
        select ctid from ${sql.table(table)} where tenant_id = ${tenant} and ${condition} limit ${limit}))`.execute(tx)
    return Number(numAffectedRows ?? 0)
  },
})

/** In the transaction that takes rows of a class it is noted that they went, for the record. */
async function takeSome(tx: Tx, tenant: TenantId, { kept, take }: Prune): Promise<number> {
  if (!kept) return take(tx, tenant, batch)
  await admitPurge(tx)
  const gone = await take(tx, tenant, batch)
  if (gone > 0) await notePurge(tx, tenant, kept, gone)
  return gone
}

/**
 * Forgets what nobody asks for any more: tenant by tenant, in short transactions, a bounded number of them a run. Of
 * most tenants there is nothing, which is one question. `recordPurges` puts on record what went, also what a run that
 * was cut off took.
 */
export const createRetention =
  ({
    db,
    tenants,
    prunes,
    recordPurges,
  }: {
    db: Database
    tenants: () => Promise<readonly TenantId[]>
    prunes: readonly Prune[]
    recordPurges: (tenant: TenantId) => Promise<void>
  }) =>
  async (): Promise<void> => {
    const dueOf = async (tx: Tx, tenant: TenantId) => {
      const { rows } = await sql<{ due: boolean[]; unrecorded: boolean }>`
        select array[${sql.join(prunes.map((p) => p.isDue(tenant)))}] as due,
          ${hasUnrecorded(tenant)} as unrecorded`.execute(tx)
      return { due: prunes.filter((_, i) => rows[0]?.due[i]), unrecorded: rows[0]?.unrecorded === true }
    }
    await eachTenant(await tenants(), async (tenant) => {
      const { due, unrecorded } = await db.inTenant(tenant, (tx) => dueOf(tx, tenant), background)
      for (const prune of due)
        for (let i = 0; i < batchesARun; i++)
          if ((await db.inTenant(tenant, (tx) => takeSome(tx, tenant, prune), background)) < batch) break
      if (unrecorded || due.some((p) => p.kept)) await recordPurges(tenant)
    })
  }
