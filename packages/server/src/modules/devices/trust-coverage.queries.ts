import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Devices whose credential counts, and how many of them have not fetched a trust set of this version or a later one. */
export async function trustCoverageOfDevices(tx: Tx, tenant: TenantId, version: number) {
  const { rows } = await sql<{ total: number; behind: number }>`
    select count(*) as total, count(*) filter (where coalesce(a.trust_version, 0) < ${version}) as behind
      from devices d left join device_activity a on a.tenant_id = d.tenant_id and a.device_id = d.device_id
     where d.tenant_id = ${tenant} and d.status <> 'revoked' and d.credential_expires_at > now()`.execute(tx)
  return rows[0] ?? { total: 0, behind: 0 }
}
