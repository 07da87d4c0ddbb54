import { type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { eachTenant } from '../kernel/each-tenant.ts'
import { background, type Database, type Tx } from './database.ts'
import type { Tables } from './tables/index.ts'

/** What of one tenant is forgotten: whether there is any of it, and how it goes, at most `limit` rows; says how many. */
export type Prune = {
  isDue: (tenant: TenantId) => RawBuilder<boolean>
  take: (tx: Tx, tenant: TenantId, limit: number) => Promise<number>
}

const batch = 1000
const batchesARun = 50

/** Rows of a table that a condition fits. */
export const dueIn = (table: keyof Tables, tenant: TenantId, condition: RawBuilder<unknown>) =>
  sql<boolean>`exists (select from ${sql.table(table)} where tenant_id = ${tenant} and ${condition})`

/** Deletes what a condition fits. A row that is changed in between stays for the next run. */
export const deleting = (table: keyof Tables, condition: RawBuilder<unknown>): Prune => ({
  isDue: (tenant) => dueIn(table, tenant, condition),
  take: async (tx, tenant, limit) => {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where tenant_id = ${tenant} and ctid = any(array(
        select ctid from ${sql.table(table)} where tenant_id = ${tenant} and ${condition} limit ${limit}))`.execute(tx)
    return Number(numAffectedRows ?? 0)
  },
})

/**
 * Forgets what nobody asks for any more: tenant by tenant, in short transactions, a bounded number of them a run. Of
 * most tenants there is nothing, which is one question.
 */
export const createRetention =
  ({ db, tenants, prunes }: { db: Database; tenants: () => Promise<readonly TenantId[]>; prunes: readonly Prune[] }) =>
  async (): Promise<void> => {
    const dueOf = async (tx: Tx, tenant: TenantId) => {
      const { rows } = await sql<{ due: boolean[] }>`
        select array[${sql.join(prunes.map((p) => p.isDue(tenant)))}] as due`.execute(tx)
      return prunes.filter((_, i) => rows[0]?.due[i])
    }
    await eachTenant(await tenants(), async (tenant) => {
      for (const prune of await db.inTenant(tenant, (tx) => dueOf(tx, tenant), background))
        for (let i = 0; i < batchesARun; i++)
          if ((await db.inTenant(tenant, (tx) => prune.take(tx, tenant, batch), background)) < batch) break
    })
  }
