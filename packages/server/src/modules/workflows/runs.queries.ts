import { type Insertable, type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { happened } from '../../db/happened.ts'
import { deleting } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { StoredCall, StoredParty } from '../../db/tables/operations.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { second } from '../../kernel/time.ts'

export type RunRow = Selectable<Tables['workflow_runs']>
export type StepRow = Selectable<Tables['workflow_steps']>
export type Ended = 'succeeded' | 'failed' | 'cancelled'

/** A replica that is gone is waited for this long; one that is there renews its lease in time. */
export const leaseMs = 10_000
// Leases and ends are judged by the clock of the database: a replica may believe whatever its own says.
const dbNow = sql<Date>`clock_timestamp()`
const inMs = (ms: number) => sql<Date>`clock_timestamp() + ${ms} * interval '1 millisecond'`

export const selectRuns = (tx: Tx, tenant: TenantId, kind: RunRow['kind'] | undefined) => {
  const q = tx.selectFrom('workflow_runs').selectAll().where('tenant_id', '=', tenant)
  return kind === undefined ? q : q.where('kind', '=', kind)
}

export const findRun = (tx: Tx, tenant: TenantId, id: string): Promise<RunRow | undefined> =>
  selectRuns(tx, tenant, undefined).where('workflow_run_id', '=', id).executeTakeFirst()

/** Until commit nobody else moves it or begins a step of it. */
export const lockRun = (tx: Tx, tenant: TenantId, id: string): Promise<RunRow | undefined> =>
  selectRuns(tx, tenant, undefined).where('workflow_run_id', '=', id).forUpdate().executeTakeFirst()

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
  'approved_by' | 'undo_at' | 'evidence' | 'evidence_digest' | 'claimed_by' | 'claimed_until' | 'finished_at'
>
/** When a run that begins now is taken back by itself; null where nobody asked for that. */
const undoAt = sql<Date | null>`clock_timestamp() + undo_after_seconds * interval '1 second'`

/** False where the run that it would undo is being undone already, or was. */
export async function insertRun(tx: Tx, run: NewRun, steps: readonly NewStep[]): Promise<boolean> {
  const made = await happened(
    tx
      .insertInto('workflow_runs')
      .values({
        ...run,
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

export const approveRun = (tx: Tx, tenant: TenantId, id: string, by: StoredParty, at: Date) =>
  happened(
    runOf(tx, tenant, id)
      .set({
        status: 'running',
        approved_by: JSON.stringify(by),
        started_at: at,
        claimed_until: dbNow,
        undo_at: undoAt,
      })
      .where('status', '=', 'awaiting_approval')
      .returning('workflow_run_id'),
  )

/** What has failed is tried again, by whoever comes first. */
export const resumeRun = async (tx: Tx, tenant: TenantId, id: string): Promise<boolean> => {
  const resumed = await happened(
    runOf(tx, tenant, id)
      .set({ status: 'running', finished_at: null, evidence: null, evidence_digest: null, claimed_until: dbNow })
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

/** Only the driver that has it, or where there is none whoever moves it under its lock. */
export const endRun = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  { status, evidence, digest, at }: { status: Ended; evidence: string; digest: string; at: Date },
): Promise<boolean> =>
  happened(
    runOf(tx, tenant, id)
      .set({ status, evidence, evidence_digest: digest, finished_at: at, claimed_by: null, claimed_until: dbNow })
      .where('status', 'in', ['awaiting_approval', 'running'])
      .returning('workflow_run_id'),
  )

export type Lease = { tenant: TenantId; id: string; by: string }
/** Of any number of replicas one gets it. */
export const claimRun = (tx: Tx, { tenant, id, by }: Lease) =>
  runOf(tx, tenant, id)
    .set({ claimed_by: by, claimed_until: inMs(leaseMs) })
    .where('status', '=', 'running')
    .where('claimed_until', '<=', dbNow)
    .returningAll()
    .executeTakeFirst()

/** For so long. False: it ended, was cancelled, or another replica has it. */
export const keepRun = (tx: Tx, { tenant, id, by }: Lease, ms = leaseMs): Promise<boolean> =>
  happened(
    runOf(tx, tenant, id)
      .set({ claimed_until: inMs(ms) })
      .where('status', '=', 'running')
      .where('claimed_by', '=', by)
      .returning('workflow_run_id'),
  )

const stepOf = (tx: Tx, { tenant, id }: Lease, step: number) =>
  tx
    .updateTable('workflow_steps')
    .where('tenant_id', '=', tenant)
    .where('workflow_run_id', '=', id)
    .where('step', '=', step)

/** The run is held by its driver. */
export const beginStep = (tx: Tx, lease: Lease, { step, attempts, started_at }: StepRow, at: Date) =>
  stepOf(tx, lease, step)
    .set({ status: 'running', attempts: attempts + 1, started_at: started_at ?? at })
    .execute()

export type Outcome =
  | { status: 'succeeded'; result: Record<string, unknown>; undo: StoredCall[] }
  | { status: 'failed'; error: string }
export const endStep = (tx: Tx, lease: Lease, step: number, outcome: Outcome, at: Date) =>
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

/** The run that undoes another, unless it was called off. */
export const undoingOf = async (tx: Tx, tenant: TenantId, id: string): Promise<string | undefined> => {
  const q = selectRuns(tx, tenant, undefined).where('undo_of', '=', id).where('status', '<>', 'cancelled')
  return (await q.executeTakeFirst())?.workflow_run_id
}

export const dropUndoAt = (tx: Tx, tenant: TenantId, id: string) =>
  happened(runOf(tx, tenant, id).set({ undo_at: null }).where('undo_at', 'is not', null).returning('workflow_run_id'))

/** Passes the tenant wall: runs that have not ended, those first that nobody carries out. */
export const openRuns = async (tx: Tx, limit: number) => {
  const { rows } = await sql<{ tenant_id: TenantId; workflow_run_id: string; is_free: boolean }>`
    select tenant_id, workflow_run_id, claimed_until <= clock_timestamp() as is_free
    from workflow_runs where status = 'running'
    order by claimed_until limit ${limit}`.execute(tx)
  return rows
}
/** Passes the tenant wall: runs that have ended and whose time is over. */
export const runsToUndo = async (tx: Tx, limit: number) => {
  const { rows } = await sql<RunRow>`
    select * from workflow_runs where undo_at <= now() and status in ('succeeded', 'failed')
    order by undo_at limit ${limit}`.execute(tx)
  return rows
}

/** A run is kept as long as usage is. */
export const pruneRuns = deleting('workflow_runs', sql`finished_at < now() - interval '400 days' and undo_at is null`)
