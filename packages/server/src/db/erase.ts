import { sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import { background, type Database, type Tx } from './database.ts'
import { type Reference, referencesBetween, referringFirst } from './table-order.ts'
import type { Tables } from './tables/index.ts'

const batch = 5000

/** Tables that keep rows of an erased tenant: its tombstone, and its audit log for the tenant's retention period. */
const kept: readonly string[] = [
  'tenants',
  ...['audit_arrivals', 'audit_log', 'audit_heads', 'audit_counts', 'audit_beginnings', 'audit_tiles', 'audit_leaves'],
  ...['audit_checkpoints', 'retention_purges', 'retention_settings'],
]

/** Lists tables of tenants, referring tables first. */
async function tablesInOrder(tx: Tx): Promise<(keyof Tables)[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select c.relname as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relrowsecurity
    order by 1`.execute(tx)
  const { rows: references } = await sql.raw<Reference>(referencesBetween).execute(tx)
  const erased = tables.map((t) => t.name).filter((name) => !kept.includes(name))
  return referringFirst(erased, references) as (keyof Tables)[]
}

/**
 * Erases all rows of a tenant in short transactions, and returns their number. An interrupted run can be resumed: a
 * tenant is erased once a whole pass has found nothing.
 */
export async function eraseTenant(db: Database, tenant: TenantId): Promise<number> {
  const tables = await db.inTenant(tenant, tablesInOrder, background)
  let erased = 0
  for (const table of tables)
    for (;;) {
      const { numAffectedRows = 0n } = await db.inTenant(
        tenant,
        (tx) =>
          sql`delete from ${sql.table(table)} where tenant_id = ${tenant} and ctid = any(array(
            select ctid from ${sql.table(table)} where tenant_id = ${tenant} limit ${batch}))`.execute(tx),
        background,
      )
      erased += Number(numAffectedRows)
      if (numAffectedRows < batch) break
    }
  return erased
}
