import { type Insertable, type Selectable, sql } from 'kysely'
import { affectedRow } from '../../db/affected-row.ts'
import type { Tx } from '../../db/database.ts'
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
export const leaseMs = 10_000
/** Time in ms in which a run can be approved. A later one has to be planned again. */
const approvalMs = day
// Leases and deadlines are judged by the database's clock, because a replica's own may be wrong.
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
      .set({ status, evidence, evidence_digest: digest, finished_at: at, claimed_by: null, claimed_until: dbNow })
      .where('status', 'in', ['awaiting_approval', 'running'])
      .returning('workflow_run_id'),
  )

export type Lease = { tenant: TenantId; id: string; by: string }
/** Takes the lease. Of concurrent replicas exactly one gets it. */
export const claimRun = (tx: Tx, { tenant, id, by }: Lease) =>
  runOf(tx, tenant, id)
    .set({ claimed_by: by, claimed_until: inMs(leaseMs) })
    .where('status', '=', 'running')
    .where('claimed_until', '<=', dbNow)
    .returning(columns)
    .executeTakeFirst()

/** Renews the lease for `ms` from now. Undefined if the run has ended or another replica has the lease. */
export const keepRun = (tx: Tx, { tenant, id, by }: Lease, ms = leaseMs): Promise<WorkflowRunRow | undefined> =>
  runOf(tx, tenant, id)
    .set({ claimed_until: inMs(ms) })
    .where('status', '=', 'running')
    .where('claimed_by', '=', by)
    .returning(columns)
    .executeTakeFirst()

const stepOf = (tx: Tx, { tenant, id }: Lease, step: number) =>
  tx
    .updateTable('workflow_steps')
    .where('tenant_id', '=', tenant)
    .where('workflow_run_id', '=', id)
    .where('step', '=', step)

/** Returns the state of each step of a run, without input and result. */
export const standOf = (tx: Tx, { tenant, id }: Lease) =>
  tx
    .selectFrom('workflow_steps')
    .select(['step', 'status', 'on_error'])
    .where('tenant_id', '=', tenant)
    .where('workflow_run_id', '=', id)
    .orderBy('step')
    .execute()

/** The driver holds the lock of the run. */
export const beginStep = (tx: Tx, lease: Lease, step: number, at: Date): Promise<StepRow> =>
  stepOf(tx, lease, step)
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
export const endStep = (tx: Tx, lease: Lease, step: number, outcome: StepOutcome, at: Date) =>
  stepOf(tx, lease, step)
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
export const noteResult = (tx: Tx, lease: Lease, step: number, result: Record<string, unknown>) =>
  stepOf(tx, lease, step)
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
