import { type Selectable, sql } from 'kysely'
import type { TenantId } from '../kernel/actor.ts'
import type { Tx } from './database.ts'
import type { Tables } from './tables/index.ts'

const notOnRecord = sql<boolean>`(unrecorded > 0 or unrecorded_months <> '{}')`

/** Whether something of the tenant has gone and is not on record yet. */
export const hasUnrecorded = (tenant: TenantId) =>
  sql<boolean>`exists (select from retention_purges where tenant_id = ${tenant} and ${notOnRecord})`

/** What has gone since this was last asked, for the one transaction that puts it on record. */
export async function takeUnrecorded(tx: Tx, tenant: TenantId): Promise<Selectable<Tables['retention_purges']>[]> {
  const rows = await tx
    .selectFrom('retention_purges')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where(notOnRecord)
    .orderBy('class')
    .forUpdate()
    .execute()
  if (rows.length > 0)
    await tx
      .updateTable('retention_purges')
      .set({ purged: sql`unrecorded`, unrecorded: 0, unrecorded_months: [] })
      .where('tenant_id', '=', tenant)
      .where(notOnRecord)
      .execute()
  return rows
}

export const selectPurges = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('retention_purges').selectAll().where('tenant_id', '=', tenant).execute()
