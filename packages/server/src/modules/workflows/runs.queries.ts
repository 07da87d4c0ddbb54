import { type Insertable, type Selectable, sql } from 'kysely'
import { affectedRow } from '../../db/affected-row.ts'
import type { Tx } from '../../db/database.ts'
import { isNotAllHeld, purgeTime } from '../../db/kept.ts'
import { leaseOf } from '../../db/lease.ts'
import { deleting, type Prune } from '../../db/retention.ts'
import type { StoredParty } from '../../db/tables/columns.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { StoredCall } from '../../db/tables/workflows.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { day, second } from '../../kernel/time.ts'

/** A run without its evidence, which may be long and is rarely requested. */
export type WorkflowRunRow = Omit<Selectable<Tables['workflow_runs']>, 'evidence'>
export type StepRow = Selectable<Tables['workflow_steps']>
export type RunEnd = 'succeeded' | 'failed' | 'cancelled'

/** Length of a lease, in ms. A running replica renews it in time. */
export const runLeaseMs = 10 * second
const { take, held, renewed, release, released } = leaseOf('workflow_runs', {
  key: ['tenant_id', 'workflow_run_id'],
  holder: 'claimed_by',
  until: 'claimed_until',
  ms: runLeaseMs,
  open: { status: 'running' },
})
/** Time in ms in which a run can be approved. A later one has to be planned again. */
const approvalMs = day
export const releaseRun = release
// Deadlines are judged by the database's clock, because a replica's own may be wrong.
const dbNow = sql<Date>`clock_timestamp()`
const inMs = (ms: number) => sql<Date>`clock_timestamp() + ${ms} * interval '1 millisecond'`

const columns = [
  ...(['tenant_id', 'workflow_run_id', 'kind', 'workflow', 'params', 'reason', 'status'] as const),
  ...(['second_approver', 'approval_expires_at', 'requested_by', 'approved_by', 'cancelled_at'] as const),
  ...(['undo_of', 'undo_after_seconds', 'undo_at'] as const),
  ...(['seq_before', 'evidence_digest', 'claimed_by', 'claimed_until'] as const),
  ...(['created_at', 'started_at', 'finished_at'] as const),
] as const

export const selectWorkflowRuns = (tx: Tx, tenant: TenantId, kind: WorkflowRunRow['kind'] | undefined) => {
  const q = tx.selectFrom('workflow_runs').select(columns).where('tenant_id', '=', tenant)
  return kind === undefined ? q : q.where('kind', '=', kind)
}

export const findWorkflowRun = (tx: Tx, tenant: TenantId, id: string): Promise<WorkflowRunRow | undefined> =>
  selectWorkflowRuns(tx, tenant, undefined).where('workflow_run_id', '=', id).executeTakeFirst()

export const findEvidence = (tx: Tx, tenant: TenantId, id: string) =>
  tx
    .selectFrom('workflow_runs')
    .select(['status', 'evidence', 'evidence_digest'])
    .where('tenant_id', '=', tenant)
    .where('workflow_run_id', '=', id)
    .executeTakeFirst()

/** Locks a run until commit, so that no other transaction changes its state or begins a step. */
export const lockRun = (tx: Tx, tenant: TenantId, id: string): Promise<WorkflowRunRow | undefined> =>
  selectWorkflowRuns(tx, tenant, undefined).where('workflow_run_id', '=', id).forUpdate().executeTakeFirst()

export const stepsOf = (tx: Tx, tenant: TenantId, id: string): Promise<StepRow[]> =>
  tx
    .selectFrom('workflow_steps')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('workflow_run_id', '=', id)
    .orderBy('step')
    .execute()

type NewStep = Pick<StepRow, 'action' | 'summary' | 'input' | 'affects' | 'affects_count' | 'on_error' | 'reversible'>
type NewRun = Omit<
  Insertable<Tables['workflow_runs']>,
  | 'approval_expires_at'
  | 'approved_by'
  | 'cancelled_at'
  | 'undo_at'
  | 'evidence'
  | 'evidence_digest'
  | 'claimed_by'
  | 'claimed_until'
  | 'finished_at'
>
/** Time at which a run that begins now is undone automatically. Null if that was not requested. */
const undoAt = sql<Date | null>`clock_timestamp() + undo_after_seconds * interval '1 second'`

/** False if the run that it would undo already has an undo. */
export async function insertWorkflowRun(tx: Tx, run: NewRun, steps: readonly NewStep[]): Promise<boolean> {
  const made = await affectedRow(
    tx
      .insertInto('workflow_runs')
      .values({
        ...run,
        approval_expires_at: run.status === 'awaiting_approval' ? inMs(approvalMs) : null,
        undo_at: run.started_at && run.undo_after_seconds ? inMs(run.undo_after_seconds * second) : null,
        claimed_until: dbNow,
      })
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'undo_of'])
          .where(sql<boolean>`undo_of is not null and status <> 'cancelled'`)
          .doNothing(),
      )
      .returning('workflow_run_id'),
  )
  const { tenant_id, workflow_run_id } = run
  if (made && steps.length > 0)
    await tx
      .insertInto('workflow_steps')
      .values(
        steps.map(({ input, affects, ...step }, i) => ({
          ...step,
          tenant_id,
          workflow_run_id,
          step: i + 1,
          input: JSON.stringify(input),
          affects: JSON.stringify(affects),
          status: 'pending',
          result: '{}',
          undo: '[]',
          attempts: 0,
        })),
      )
      .execute()
  return made
}

const runOf = (tx: Tx, tenant: TenantId, id: string) =>
  tx.updateTable('workflow_runs').where('tenant_id', '=', tenant).where('workflow_run_id', '=', id)

/** False if it is too late. */
export const approveRun = (tx: Tx, tenant: TenantId, id: string, by: StoredParty, at: Date) =>
  affectedRow(
    runOf(tx, tenant, id)
      .set({
        status: 'running',
        approved_by: JSON.stringify(by),
        started_at: at,
        claimed_until: dbNow,
        undo_at: undoAt,
      })
      .where('status', '=', 'awaiting_approval')
      .where('approval_expires_at', '>', dbNow)
      .returning('workflow_run_id'),
  )

/** Cancels a run. Its driver ends it after the current step. */
export const cancelRun = (tx: Tx, tenant: TenantId, id: string, at: Date): Promise<boolean> =>
  affectedRow(
    runOf(tx, tenant, id)
      .set({ cancelled_at: at })
      .where('status', 'in', ['awaiting_approval', 'running'])
      .where('cancelled_at', 'is', null)
      .returning('workflow_run_id'),
  )

/** Resumes a run: failed steps are tried again by the first driver. */
export const resumeRun = async (tx: Tx, tenant: TenantId, id: string): Promise<boolean> => {
  const resumed = await affectedRow(
    runOf(tx, tenant, id)
      .set({
        status: 'running',
        cancelled_at: null,
        finished_at: null,
        evidence: null,
        evidence_digest: null,
        claimed_until: dbNow,
      })
      .where('status', '=', 'failed')
      .returning('workflow_run_id'),
  )
  if (resumed)
    await tx
      .updateTable('workflow_steps')
      .set({ status: 'pending', error: null, finished_at: null })
      .where('tenant_id', '=', tenant)
      .where('workflow_run_id', '=', id)
      .where('status', '=', 'failed')
      .execute()
  return resumed
}

/** Called only by the driver with the lease, or without a driver under the lock of the run. */
export const endRun = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  { status, evidence, digest, at }: { status: RunEnd; evidence: string; digest: string; at: Date },
): Promise<boolean> =>
  affectedRow(
    runOf(tx, tenant, id)
      .set({ status, evidence, evidence_digest: digest, finished_at: at, ...released() })
      .where('status', 'in', ['awaiting_approval', 'running'])
      .returning('workflow_run_id'),
  )

export type WorkflowRunId = Pick<WorkflowRunRow, 'tenant_id' | 'workflow_run_id'>
/** A run that this replica carries out. */
export type LeasedRun = WorkflowRunRow & { claimed_by: string }
/** Takes the lease. Of concurrent replicas exactly one gets it. */
export const takeRun = (tx: Tx, id: WorkflowRunId): Promise<LeasedRun | undefined> =>
  take(tx, id).returning(columns).$narrowType<{ claimed_by: string }>().executeTakeFirst()

/** Renews the lease. Undefined if the run has ended or another replica has the lease. */
export const renewRun = (tx: Tx, run: LeasedRun): Promise<WorkflowRunRow | undefined> =>
  held(tx, run).set(renewed()).returning(columns).executeTakeFirst()

const stepOf = (tx: Tx, { tenant_id, workflow_run_id }: WorkflowRunId, step: number) =>
  tx
    .updateTable('workflow_steps')
    .where('tenant_id', '=', tenant_id)
    .where('workflow_run_id', '=', workflow_run_id)
    .where('step', '=', step)

/** Returns the state of each step of a run, without input and result. */
export const standOf = (tx: Tx, { tenant_id, workflow_run_id }: WorkflowRunId) =>
  tx
    .selectFrom('workflow_steps')
    .select(['step', 'status', 'on_error'])
    .where('tenant_id', '=', tenant_id)
    .where('workflow_run_id', '=', workflow_run_id)
    .orderBy('step')
    .execute()

/** The driver holds the lock of the run. */
export const beginStep = (tx: Tx, run: WorkflowRunId, step: number, at: Date): Promise<StepRow> =>
  stepOf(tx, run, step)
    .set({
      status: 'running',
      attempts: sql<number>`attempts + 1`,
      started_at: sql<Date>`coalesce(started_at, ${at})`,
    })
    .returningAll()
    .executeTakeFirstOrThrow()

export type StepOutcome =
  | { status: 'succeeded'; result: Record<string, unknown>; undo: StoredCall[] }
  | { status: 'failed'; error: string }
export const endStep = (tx: Tx, run: WorkflowRunId, step: number, outcome: StepOutcome, at: Date) =>
  stepOf(tx, run, step)
    .set(
      outcome.status === 'failed'
        ? { status: 'failed', error: outcome.error, finished_at: at }
        : {
            status: 'succeeded',
            result: JSON.stringify(outcome.result),
            undo: JSON.stringify(outcome.undo),
            error: null,
            finished_at: at,
          },
    )
    .execute()

/** Stores the preliminary result of the current step. */
export const noteResult = (tx: Tx, run: WorkflowRunId, step: number, result: Record<string, unknown>) =>
  stepOf(tx, run, step)
    .set({ result: JSON.stringify(result) })
    .where('status', '=', 'running')
    .execute()

/** Returns the run that undoes another one, unless it was cancelled. */
export const undoingOf = async (tx: Tx, tenant: TenantId, id: string): Promise<string | undefined> => {
  const q = selectWorkflowRuns(tx, tenant, undefined).where('undo_of', '=', id).where('status', '<>', 'cancelled')
  return (await q.executeTakeFirst())?.workflow_run_id
}

export const dropUndoAt = (tx: Tx, tenant: TenantId, id: string) =>
  affectedRow(
    runOf(tx, tenant, id).set({ undo_at: null }).where('undo_at', 'is not', null).returning('workflow_run_id'),
  )

/** Across tenants: runs that have not ended, those without a lease first. */
export const openRuns = async (tx: Tx, limit: number) => {
  const { rows } = await sql<WorkflowRunId & { is_free: boolean }>`
    select tenant_id, workflow_run_id, claimed_until <= clock_timestamp() as is_free
    from workflow_runs where status = 'running'
    order by claimed_until limit ${limit}`.execute(tx)
  return rows
}
/** Across tenants: runs that were not approved in time. */
export const unapprovedRuns = async (tx: Tx, limit: number) => {
  const { rows } = await sql<WorkflowRunId>`
    select tenant_id, workflow_run_id from workflow_runs
    where status = 'awaiting_approval' and approval_expires_at <= now()
    order by approval_expires_at limit ${limit}`.execute(tx)
  return rows
}
/** Across tenants: ended runs whose undo is due. */
export const runsToUndo = async (tx: Tx, limit: number) => {
  const { rows } = await sql<WorkflowRunId>`
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
