import { sql } from 'kysely'
import { keyedLocks } from '../../db/advisory-locks.ts'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Locks, until commit, the decision which devices of the tenant wait. */
export const holdWaiting = (tx: Tx, tenant: TenantId) =>
  sql`select pg_advisory_xact_lock(${sql.lit(keyedLocks.waitingDevices)}, hashtext(${tenant}::text))`.execute(tx)

/** Number of devices that wait for approval, counted up to `most`, and the enrollment time of the newest. */
export const countWaiting = async (
  tx: Tx,
  tenant: TenantId,
  most: number,
): Promise<{ count: number; newestAt: Date | null }> => {
  const { rows } = await sql<{ count: number; newestAt: Date | null }>`
    select count(*) as count, max(enrolled_at) as "newestAt" from (
      select enrolled_at from devices where tenant_id = ${tenant} and status = 'pending'
      order by enrolled_at desc limit ${most}) as waiting`.execute(tx)
  return rows[0] ?? { count: 0, newestAt: null }
}

/** Bypasses tenant isolation. Tenants with devices that wait for approval. */
export const tenantsWithWaiting = async (tx: Tx): Promise<TenantId[]> => {
  const rows = await tx.selectFrom('devices').select('tenant_id').distinct().where('status', '=', 'pending').execute()
  return rows.map((r) => r.tenant_id)
}
