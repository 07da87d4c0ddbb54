import { type RawBuilder, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { eachTenant } from '../kernel/each-tenant.ts'
import { background, type Database, type Tx } from './database.ts'
import type { Tables } from './tables/index.ts'

/** Forgets rows of one tenant, at most `limit` of them; says how many. */
export type Prune = (tx: Tx, tenant: TenantId, limit: number) => Promise<number>

const batch = 1000
const batchesARun = 50

/** Deletes what a condition fits. A row that is changed in between stays for the next run. */
export const deleting =
  (table: keyof Tables, condition: RawBuilder<unknown>): Prune =>
  async (tx, tenant, limit) => {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where tenant_id = ${tenant} and ctid = any(array(
        select ctid from ${sql.table(table)} where tenant_id = ${tenant} and ${condition} limit ${limit}))`.execute(tx)
    return Number(numAffectedRows ?? 0)
  }

/**
 * Forgets what nobody asks for any more, tenant by tenant and a bounded number of rows a run. Of most tenants there is
 * little or nothing: that is one transaction. Whatever has more goes on in short ones of its own.
 */
export const createRetention =
  ({ db, tenants, prunes }: { db: Database; tenants: () => Promise<readonly TenantId[]>; prunes: readonly Prune[] }) =>
  async (): Promise<void> => {
    await eachTenant(await tenants(), async (tenant) => {
      const full = await db.inTenant(
        tenant,
        async (tx) => {
          const more: Prune[] = []
          for (const prune of prunes) if ((await prune(tx, tenant, batch)) === batch) more.push(prune)
          return more
        },
        background,
      )
      for (const prune of full)
        for (let i = 1; i < batchesARun; i++)
          if ((await db.inTenant(tenant, (tx) => prune(tx, tenant, batch), background)) < batch) break
    })
  }
