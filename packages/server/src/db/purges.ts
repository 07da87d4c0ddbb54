import { type Selectable, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import type { Tx } from './database.ts'
import type { Tables } from './tables/index.ts'

const notOnRecord = sql<boolean>`(unrecorded > 0 or unrecorded_months <> '{}')`

/** SQL condition: a purge of the tenant is not in the audit log yet. */
export const hasUnrecorded = (tenant: TenantId) =>
  sql<boolean>`exists (select from retention_purges where tenant_id = ${tenant} and ${notOnRecord})`

/**
 * Locks and returns a purged class that is not in the audit log yet, for the transaction that writes it there;
 * undefined if there is none.
 */
export async function takeUnrecorded(
  tx: Tx,
  tenant: TenantId,
): Promise<Selectable<Tables['retention_purges']> | undefined> {
  const row = await tx
    .selectFrom('retention_purges')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where(notOnRecord)
    .orderBy('class')
    .limit(1)
    .forUpdate()
    .executeTakeFirst()
  if (row)
    await tx
      .updateTable('retention_purges')
      .set({ purged: sql`unrecorded`, unrecorded: 0, unrecorded_months: [] })
      .where('tenant_id', '=', tenant)
      .where('class', '=', row.class)
      .execute()
  return row
}

export const selectPurges = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('retention_purges').selectAll().where('tenant_id', '=', tenant).execute()
