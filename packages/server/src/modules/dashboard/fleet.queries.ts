import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { purgeTime } from '../../db/kept.ts'
import { deleting } from '../../db/retention.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Bypasses tenant isolation. Tenants without a sample for a day. */
export const tenantsWithoutDay = async (tx: Tx, tenants: readonly TenantId[], day: Date): Promise<TenantId[]> => {
  const { rows } = await sql<{ tenant_id: TenantId }>`
    select t.tenant_id from unnest(${tenants}::uuid[]) as t (tenant_id)
    where not exists (select from fleet_days d where d.tenant_id = t.tenant_id and d.day = ${day})`.execute(tx)
  return rows.map((r) => r.tenant_id)
}

type Sample = {
  devices: number
  platforms: object[]
  client_versions: object[]
  other_client_versions: number
}
/** The first sample of a day stays. */
export const insertDay = (tx: Tx, tenant: TenantId, day: Date, sample: Sample) =>
  tx
    .insertInto('fleet_days')
    .values({
      tenant_id: tenant,
      day,
      devices: sample.devices,
      other_client_versions: sample.other_client_versions,
      platforms: JSON.stringify(sample.platforms),
      client_versions: JSON.stringify(sample.client_versions),
    })
    .onConflict((c) => c.columns(['tenant_id', 'day']).doNothing())
    .execute()

export const daysSince = (tx: Tx, tenant: TenantId, from: Date) =>
  tx
    .selectFrom('fleet_days')
    .select(['day', 'devices', 'platforms', 'client_versions', 'other_client_versions'])
    .where('tenant_id', '=', tenant)
    .where('day', '>=', from)
    .orderBy('day')
    .execute()

export const pruneDays = deleting('fleet_days', sql`day < ${purgeTime} - interval '32 days'`)
