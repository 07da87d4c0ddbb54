import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/**
 * Number of devices with a valid credential, and of those that have not fetched this or a later version of the trust
 * set.
 */
export async function trustCoverageOfDevices(tx: Tx, tenant: TenantId, version: number) {
  const { rows } = await sql<{ total: number; behind: number }>`
    select count(*) as total, count(*) filter (where coalesce(a.trust_version, 0) < ${version}) as behind
      from devices d left join device_activity a on a.tenant_id = d.tenant_id and a.device_id = d.device_id
     where d.tenant_id = ${tenant} and d.status <> 'revoked' and d.credential_expires_at > now()`.execute(tx)
  return rows[0] ?? { total: 0, behind: 0 }
}

/** Stores fetched versions for devices of all tenants, one entry each; a version is never set back. */
export const markTrust = (tx: Tx, marks: readonly { tenant_id: string; device_id: string; version: number }[]) =>
  sql`insert into device_activity (tenant_id, device_id, trust_version)
      select m.tenant_id, m.device_id, m.version
        from jsonb_to_recordset(${JSON.stringify(marks)}::jsonb) as m (tenant_id uuid, device_id uuid, version bigint)
       order by 1, 2
      on conflict (tenant_id, device_id) do update
        set trust_version = greatest(device_activity.trust_version, excluded.trust_version)`.execute(tx)
