import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { isNotAllHeld, purgeTime } from '../../db/kept.ts'
import { deleting, type Prune } from '../../db/retention.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Across tenants: runs that have not ended, those without a lease first. */
export const openRuns = async (tx: Tx, limit: number) => {
  const { rows } = await sql<{ tenant_id: TenantId; workflow_run_id: string; is_free: boolean }>`
    select tenant_id, workflow_run_id, claimed_until <= clock_timestamp() as is_free
    from workflow_runs where status = 'running'
    order by claimed_until limit ${limit}`.execute(tx)
  return rows
}
/** Across tenants: runs that were not approved in time. */
export const unapprovedRuns = async (tx: Tx, limit: number) => {
  const { rows } = await sql<{ tenant_id: TenantId; workflow_run_id: string }>`
    select tenant_id, workflow_run_id from workflow_runs
    where status = 'awaiting_approval' and approval_expires_at <= now()
    order by approval_expires_at limit ${limit}`.execute(tx)
  return rows
}
/** Across tenants: ended runs whose undo is due. */
export const runsToUndo = async (tx: Tx, limit: number) => {
  const { rows } = await sql<{ tenant_id: TenantId; workflow_run_id: string }>`
    select tenant_id, workflow_run_id from workflow_runs
    where undo_at <= now() and status in ('succeeded', 'failed', 'cancelled')
    order by undo_at limit ${limit}`.execute(tx)
  return rows
}

const isOldSecret = (tenant: TenantId) =>
  sql`tenant_id = ${tenant} and result ? 'secret_jwe' and finished_at < now() - interval '1 day'`
/**
 * Deletes sealed secrets that the requester had time to fetch. The secret that each one replaces is valid for hours
 * only.
 */
export const pruneSealed: Prune = {
  isDue: (tenant) => sql<boolean>`exists (select from workflow_steps where ${isOldSecret(tenant)})`,
  take: async (tx, tenant, limit) => {
    const { numAffectedRows } = await sql`
      with old as (
        select workflow_run_id, step from workflow_steps where ${isOldSecret(tenant)}
        order by workflow_run_id, step limit ${limit} for update)
      update workflow_steps s set result = result - 'secret_jwe' from old
      where s.tenant_id = ${tenant} and s.workflow_run_id = old.workflow_run_id and s.step = old.step`.execute(tx)
    return Number(numAffectedRows ?? 0)
  },
}

/** A run is kept as long as usage is, and while a legal hold covers the whole tenant. */
export const pruneWorkflowRuns = deleting(
  'workflow_runs',
  sql`finished_at < ${purgeTime} - interval '400 days' and undo_at is null and ${isNotAllHeld}`,
)
