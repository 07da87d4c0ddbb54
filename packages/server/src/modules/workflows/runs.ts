import type { RunOperation, WorkflowKind } from '@holdfast/contract/vocabulary'
import type { Tx } from '../../db/database.ts'
import { type Actor, jobSource, type Source, type TenantId } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { encodeId, missing, newUuid } from '../../kernel/ids.ts'
import { day } from '../../kernel/time.ts'
import { unownedKey, wasSetBy } from '../identity/index.ts'
import type { Notice } from '../notifications/index.ts'
import { confirmGateways, type WorkflowStep } from './definition.ts'
import type { WorkflowsDeps } from './deps.ts'
import type { createEnd } from './end.ts'
import { type Planned, stored, type WorkflowPlans } from './plan.ts'
import { type ActorOf, personsOf, requesterOf } from './requester.ts'
import type { StepRow, WorkflowRunRow } from './runs.queries.ts'
import * as queries from './runs.queries.ts'

export const job = 'drive_workflows'
export type RunRequest = {
  name: string
  params: Record<string, unknown>
  reason: string | undefined
  undoAfterSeconds: number | undefined
}
/** A run: its row and its steps. */
export type Run = { run: WorkflowRunRow; steps: StepRow[] }
type RunsDeps = Pick<WorkflowsDeps, 'db' | 'audit' | 'changes' | 'feed' | 'now' | 'notifications'> & {
  plans: WorkflowPlans
  actorOf: ActorOf
  end: ReturnType<typeof createEnd>
  /** Called after the commit that lets a run begin or continue. */
  begun: (tenant: TenantId, id: string) => void
}

/** State changes of runs: start, approve, cancel, resume and undo. The driver carries out the steps. */
export function createWorkflowRuns({
  db,
  audit,
  changes,
  feed,
  now,
  notifications,
  plans,
  actorOf,
  end,
  begun,
}: RunsDeps) {
  const read = async (tx: Tx, tenant: TenantId, id: string): Promise<Run> => ({
    run: (await queries.findWorkflowRun(tx, tenant, id)) ?? missing('workflow_run'),
    steps: await queries.stepsOf(tx, tenant, id),
  })

  /** Called last in the transaction. Notifies the replicas, so that another one continues the run if this one ends. */
  async function set(tx: Tx, tenant: TenantId, id: string): Promise<void> {
    await changes.record(tx, tenant, [{ kind: 'workflow_run', subject: id }])
    db.afterCommit(tx, () => begun(tenant, id))
  }

  type What = {
    kind: WorkflowKind
    name: string
    secondApprover: boolean
    steps: readonly WorkflowStep[]
    undoOf: string | null
  }
  /** Undefined if the run to undo already has an undo. */
  async function insert(
    tx: Tx,
    actor: Actor,
    what: What,
    asked: Omit<RunRequest, 'name'>,
  ): Promise<string | undefined> {
    const { tenantId: tenant } = actor
    const id = newUuid()
    const at = now()
    const made = await queries.insertWorkflowRun(
      tx,
      {
        tenant_id: tenant,
        workflow_run_id: id,
        kind: what.kind,
        workflow: what.name,
        params: JSON.stringify(asked.params),
        reason: asked.reason ?? null,
        status: what.secondApprover ? 'awaiting_approval' : 'running',
        second_approver: what.secondApprover,
        requested_by: JSON.stringify(requesterOf(actor)),
        undo_of: what.undoOf,
        undo_after_seconds: asked.undoAfterSeconds ?? null,
        seq_before: feed.seqOf(tenant),
        created_at: at,
        started_at: what.secondApprover ? null : at,
      },
      what.steps.map(stored),
    )
    if (!made) return undefined
    const workflow_run_id = encodeId('workflow_run', id)
    const fields = { workflow: what.name, workflow_run_id, dry_run: false }
    const target = { type: 'workflow_run', id: workflow_run_id, name: what.name }
    const details = asked.reason === undefined ? {} : { details: { reason: asked.reason } }
    await audit.record(tx, actor, 'workflow.started', fields, { target, ...details })
    const waiting = { id, kind: what.kind, name: what.name, requester: actor.name, reason: asked.reason }
    if (what.secondApprover) await notifications.notify(tx, tenant, waitingNotice(waiting))
    return id
  }

  /**
   * Refuses an approver whose account the requester made, or whose password, factor or link the requester set, within a
   * day before the request or since. The requester could act as that account.
   */
  async function requireSecondPerson(tx: Tx, { principal }: Actor, run: WorkflowRunRow): Promise<void> {
    if (principal.kind !== 'session') return
    const people = personsOf(run.requested_by)
    const by = people.length > 0 ? people : [unownedKey(run.requested_by.credential.id)]
    const since = new Date(run.created_at.getTime() - day)
    const { tenantId: home, userId: user } = principal
    if (await db.alsoIn(tx, home, (own) => wasSetBy(own, home, { user, by, since })))
      fail(
        'forbidden',
        'the requester created your account, or set its password, second factor or linked account, less than a day before the request or after it: another person must approve the run',
      )
  }

  async function approve(tx: Tx, actor: Actor, { run }: Run): Promise<boolean> {
    if (run.status !== 'awaiting_approval') return false
    const { principal } = actor
    if (principal.kind !== 'session' || personsOf(run.requested_by).includes(principal.userId))
      fail('forbidden', 'a person other than the requester must approve the run, in a session')
    await requireSecondPerson(tx, actor, run)
    const by = { type: actor.type, id: actor.id, name: actor.name }
    if (!(await queries.approveRun(tx, run.tenant_id, run.workflow_run_id, by, now())))
      fail('validation_error', 'the run was not approved within a day: start a new run')
    await notifications.close(tx, actor, causeOf(run.workflow_run_id))
    return true
  }
  /** Cancels a run. The current step ends first and its result is stored; then the driver ends the run. */
  async function cancel(tx: Tx, by: Source, { run, steps }: Run): Promise<boolean> {
    if (run.status === 'succeeded' || run.status === 'failed')
      fail('validation_error', `the run has ${run.status} and cannot be cancelled: undo it instead`)
    if (!(await queries.cancelRun(tx, run.tenant_id, run.workflow_run_id, now()))) return false
    if (run.status === 'awaiting_approval') await notifications.close(tx, by, causeOf(run.workflow_run_id))
    if (!steps.some((s) => s.status === 'running')) await end(tx, by, { run, steps }, 'cancelled')
    return true
  }
  async function resume(tx: Tx, { run }: Run): Promise<boolean> {
    if (run.status === 'running') return false
    if (run.status !== 'failed') fail('validation_error', `the run is ${run.status}: only a failed run can be resumed`)
    if (await queries.undoingOf(tx, run.tenant_id, run.workflow_run_id))
      fail('validation_error', 'the run was undone: start a new run')
    return queries.resumeRun(tx, run.tenant_id, run.workflow_run_id)
  }

  /** Returns the calls that undo completed steps, in reverse order. */
  const takingBack = (steps: readonly StepRow[]): WorkflowStep[] =>
    steps
      .toReversed()
      .flatMap(({ undo, summary, affects }) =>
        undo.map((call) => ({ call, summary: `Undo: ${summary}`, affects, onError: 'continue' as const })),
      )
  async function undo(
    tx: Tx,
    actor: Actor,
    { run, steps }: Run,
    reason: string | undefined,
  ): Promise<string | undefined> {
    if (run.status === 'awaiting_approval' || run.status === 'running')
      fail('validation_error', `the run is ${run.status} and cannot be undone: cancel it`)
    const back = takingBack(steps)
    if (back.length === 0) fail('validation_error', 'no completed step of the run can be undone')
    await queries.dropUndoAt(tx, run.tenant_id, run.workflow_run_id)
    const what = { kind: run.kind, name: run.workflow, secondApprover: false, undoOf: run.workflow_run_id }
    const asked = { params: run.params, reason, undoAfterSeconds: undefined }
    return insert(tx, actor, { ...what, steps: [...back, confirmGateways] }, asked)
  }

  return {
    get: (tenant: TenantId, id: string) => db.inTenant(tenant, (tx) => read(tx, tenant, id)),

    /** A dry run leaves only its audit event. */
    noteDryRun: (actor: Actor, workflow: string): Promise<void> =>
      db.inTenant(actor.tenantId, (tx) => audit.record(tx, actor, 'workflow.started', { workflow, dry_run: true }, {})),

    start: (actor: Actor, { definition, secondApprover, steps }: Planned, asked: RunRequest): Promise<string> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const what = { kind: definition.kind, name: definition.name, secondApprover, steps, undoOf: null }
        const id = (await insert(tx, actor, what, asked)) ?? missing('workflow_run')
        await set(tx, actor.tenantId, id)
        return id
      }),

    /** Returns the run to show: for an undo the new run. */
    change: async (
      actor: Actor,
      kind: WorkflowKind,
      id: string,
      { operation, reason }: { operation: RunOperation; reason: string | undefined },
    ): Promise<{ id: string; changed: boolean }> => {
      const { tenantId: tenant } = actor
      const { run, steps } = await db.inTenant(tenant, (tx) => read(tx, tenant, id))
      if (run.kind !== kind) missing('workflow_run')
      const calls = operation === 'undo' ? takingBack(steps).map((s) => s.call) : steps.map((s) => s.input)
      if (operation !== 'cancel') await plans.requireMay(actor, calls, true)
      return db.inTenant(tenant, async (tx) => {
        const held: Run = {
          run: (await queries.lockRun(tx, tenant, id)) ?? missing('workflow_run'),
          steps: await queries.stepsOf(tx, tenant, id),
        }
        if (operation === 'undo') {
          const undoing = await undo(tx, actor, held, reason)
          if (undoing === undefined) return { id: (await queries.undoingOf(tx, tenant, id)) ?? id, changed: false }
          await recordChange(tx, actor, held.run, operation, reason)
          await set(tx, tenant, undoing)
          return { id: undoing, changed: true }
        }
        const move = { approve, cancel, resume: (t: Tx, _: Actor, r: Run) => resume(t, r) }[operation]
        if (!(await move(tx, actor, held))) return { id, changed: false }
        await recordChange(tx, actor, held.run, operation, reason)
        if (operation !== 'cancel') await set(tx, tenant, id)
        return { id, changed: true }
      })
    },

    /** Cancels a run that was not approved in time. */
    endUnapproved: (tenant: TenantId, id: string): Promise<void> =>
      db.inTenant(tenant, async (tx) => {
        const run = await queries.lockRun(tx, tenant, id)
        if (run?.status !== 'awaiting_approval') return
        const source = jobSource(tenant, job)
        await cancel(tx, source, { run, steps: await queries.stepsOf(tx, tenant, id) })
        await recordChange(tx, source, run, 'cancel', 'the run was not approved within a day')
      }),

    /** Undoes a due run with the present rights of its requester. */
    undoDue: async (tenant: TenantId, id: string): Promise<void> => {
      const found = await db.inTenant(tenant, (tx) => queries.findWorkflowRun(tx, tenant, id))
      const actor = found && (await actorOf(found))
      await db.inTenant(tenant, async (tx) => {
        const run = await queries.lockRun(tx, tenant, id)
        if (!run?.undo_at) return
        const steps = await queries.stepsOf(tx, tenant, id)
        if (takingBack(steps).length === 0) await queries.dropUndoAt(tx, tenant, id)
        else if (!actor) await refuseUndo(tx, run)
        else {
          const undoing = await undo(tx, actor, { run, steps }, 'the time limit of the run has passed')
          if (undoing !== undefined) await set(tx, tenant, undoing)
        }
      })
    },
  }

  /** Keeps the effects of the run, and audits the reason. */
  async function refuseUndo(tx: Tx, run: WorkflowRunRow): Promise<void> {
    await queries.dropUndoAt(tx, run.tenant_id, run.workflow_run_id)
    const workflow_run_id = encodeId('workflow_run', run.workflow_run_id)
    const fields = { workflow: run.workflow, workflow_run_id, operation: 'undo' }
    const target = { type: 'workflow_run', id: workflow_run_id, name: run.workflow }
    const details = { reason: 'the requester no longer has access' }
    await audit.record(tx, jobSource(run.tenant_id, job), 'workflow.changed', fields, {
      target,
      details,
      outcome: 'failed',
    })
  }

  async function recordChange(
    tx: Tx,
    by: Source,
    run: WorkflowRunRow,
    operation: RunOperation,
    reason: string | undefined,
  ) {
    const workflow_run_id = encodeId('workflow_run', run.workflow_run_id)
    const target = { type: 'workflow_run', id: workflow_run_id, name: run.workflow }
    const fields = { workflow: run.workflow, workflow_run_id, operation }
    const details = reason === undefined ? {} : { details: { reason } }
    await audit.record(tx, by, 'workflow.changed', fields, { target, ...details })
  }
}
export type WorkflowRuns = ReturnType<typeof createWorkflowRuns>

const causeOf = (runId: string) => `workflow.awaiting_approval:${runId}`

type Waiting = { id: string; kind: WorkflowKind; name: string; requester: string | null; reason: string | undefined }
/** Notice of a run that waits for the approval of another person. */
const waitingNotice = ({ id, kind, name, requester, reason }: Waiting): Notice => {
  const runId = encodeId('workflow_run', id)
  const why = reason === undefined ? '' : ` (${reason})`
  return {
    kind: 'workflow.awaiting_approval',
    severity: 'warning',
    title: `The ${kind} ${name} waits for a second approver`,
    detail: `${requester ?? 'An administrator'} requested it${why}. It starts when another person with the permissions of all steps approves it. Without approval, it is cancelled after a day. Check its steps before you approve it.\nGET /v1/admin/workflows/runs/${runId}`,
    subject: { type: 'workflow_run', id: runId, name },
    dedupe_key: causeOf(id),
  }
}
