import { setTimeout as delay } from 'node:timers/promises'
import { runAnswerSeconds } from '@holdfast/contract/limits'
import type { RunOperation, WorkflowKind } from '@holdfast/contract/vocabulary'
import { Answer } from '../../http/answer/answer.ts'
import type { Handlers } from '../../http/handlers.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { fail, failField } from '../../kernel/app-error.ts'
import { encodeId, idOf, missing } from '../../kernel/ids.ts'
import { second } from '../../kernel/time.ts'
import { confirmation } from './definition.ts'
import type { WorkflowsDeps } from './deps.ts'
import type { Driver } from './drive.ts'
import type { WorkflowPlans } from './plan.ts'
import { findEvidence, type StepRow, selectWorkflowRuns } from './runs.queries.ts'
import type { Run, WorkflowRuns } from './runs.ts'
import { isReversible } from './takes-back.ts'
import { type RunDetail, type ShownConfirmations, viewDefinition, viewDetail, viewPlan, viewRun } from './view.ts'

/** Time that an answer waits for the end of a run, in ms. The state of longer runs has to be requested. */
const answerWithinMs = runAnswerSeconds * second
const lastRuns = 20

type Given = { params?: Record<string, unknown>; dry_run?: boolean; reason?: string; undo_after_seconds?: number }

export function runHandlers({
  db,
  pager,
  now,
  plans,
  runs,
  driver,
  confirmations,
}: Pick<WorkflowsDeps, 'db' | 'pager' | 'now' | 'confirmations'> & {
  plans: WorkflowPlans
  runs: WorkflowRuns
  driver: Driver
}) {
  const waitingOf = createConfirmationWaits(confirmations)
  const detail = async (tenant: TenantId, run: Run): Promise<RunDetail> =>
    viewDetail(run, await waitingOf(tenant, run.steps))

  /** Returns the run after its end, or after a timeout. */
  async function settled(tenant: TenantId, id: string): Promise<RunDetail> {
    await Promise.race([driver.start(tenant, id), delay(answerWithinMs, undefined, { ref: false })])
    return detail(tenant, await runs.get(tenant, id))
  }

  async function start(actor: Actor, kind: WorkflowKind, name: string, given: Given) {
    const { params = {}, reason, undo_after_seconds: undoAfterSeconds, dry_run: isDry = false } = given
    const asked = { name, params, reason, undoAfterSeconds }
    const planned = await plans.plan(actor, kind, asked)
    const calls = planned.steps.map((s) => s.call)
    await plans.requireMay(actor, calls, !isDry)
    if (undoAfterSeconds !== undefined && calls.length > 0 && !calls.some(isReversible))
      failField('undo_after_seconds', 'is not allowed, because no step of this workflow can be undone')
    if (isDry) {
      await runs.noteDryRun(actor, name)
      return { run: viewPlan(planned, actor, asked, now()) }
    }
    const run = await settled(actor.tenantId, await runs.start(actor, planned, asked))
    return new Answer({ run }, { status: run.finished_at === null ? 202 : 200 })
  }

  const list = (actor: Actor, kind: WorkflowKind) =>
    db.inTenant(actor.tenantId, async (tx) => {
      const q = selectWorkflowRuns(tx, actor.tenantId, kind)
      const found = await q.orderBy('created_at', 'desc').orderBy('workflow_run_id', 'desc').limit(lastRuns).execute()
      return { items: plans.ofKind(kind).map(viewDefinition), runs: found.map(viewRun) }
    })

  type Change = { operation: RunOperation; reason?: string }
  async function change(actor: Actor, kind: WorkflowKind, wire: string, { operation, reason }: Change) {
    const { id, changed } = await runs.change(actor, kind, idOf('workflow_run', wire), { operation, reason })
    return { operation, changed, run: await settled(actor.tenantId, id) }
  }

  return {
    listWorkflows: ({ actor }) => list(actor, 'workflow'),
    runWorkflow: ({ actor, body: { workflow, ...given } }) => start(actor, 'workflow', workflow, given),
    runPlaybook: ({ actor, body: { workflow, playbook, ...given } }) => {
      const name = workflow ?? playbook ?? failField('workflow', 'is required: give the name of the playbook')
      if (workflow !== undefined && playbook !== undefined) failField('playbook', 'cannot be combined with workflow')
      return start(actor, 'playbook', name, given)
    },
    listWorkflowRuns: ({ actor, query: { kind, ...query } }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const found = await pager.list(selectWorkflowRuns(tx, actor.tenantId, kind), {
          operation: 'listWorkflowRuns',
          tenant: actor.tenantId,
          query: { ...query, kind },
          orders: { created_at: { column: 'created_at', kind: 'time' } },
          tie: 'workflow_run_id',
        })
        return { items: found.items.map(viewRun), next_cursor: found.next_cursor }
      }),
    getWorkflowRun: async ({ actor, params }) =>
      detail(actor.tenantId, await runs.get(actor.tenantId, idOf('workflow_run', params.workflow_run_id))),
    getWorkflowEvidence: async ({ actor: { tenantId }, params }) => {
      const id = idOf('workflow_run', params.workflow_run_id)
      const found = (await db.inTenant(tenantId, (tx) => findEvidence(tx, tenantId, id))) ?? missing('workflow_run')
      const { status, evidence, evidence_digest } = found
      if (evidence === null || evidence_digest === null)
        return fail('validation_error', `the run is ${status}: the evidence exists only after the end of the run`)
      return { evidence, evidence_digest, request_id: encodeId('workflow_run', id) }
    },
    changeWorkflowRun: ({ actor, params, body }) => change(actor, 'workflow', params.workflow_run_id, body),
    changePlaybookRun: ({ actor, params, body }) => change(actor, 'playbook', params.workflow_run_id, body),
    listPlaybooks: ({ actor }) => list(actor, 'playbook'),
  } satisfies Partial<Handlers>
}

/** Most gateways listed. The counts cover all of them. */
const shownAtMost = 200

/** Returns the gateways that the running step waits for, in their present state. At most one step runs. */
const createConfirmationWaits =
  (confirmations: WorkflowsDeps['confirmations']) =>
  async (tenant: TenantId, steps: readonly StepRow[]): Promise<ReadonlyMap<number, ShownConfirmations>> => {
    const step = steps.find((s) => s.status === 'running' && s.action === confirmation.operation)
    // The driver stores the number as soon as the wait begins.
    const seq = step?.result.seq
    if (!step || typeof seq !== 'number') return new Map()
    const found = await confirmations.each(tenant, seq)
    const confirmed = found.filter((g) => g.isConfirmed)
    const waiting = found.filter((g) => !g.isConfirmed && g.isReachable)
    const down = found.filter((g) => !g.isConfirmed && !g.isReachable)
    return new Map([
      [
        step.step,
        {
          seq,
          confirmed: confirmed.length,
          waiting: waiting.length,
          down: down.length,
          gateways: [...waiting, ...down, ...confirmed].slice(0, shownAtMost).map((g) => ({
            gateway_id: encodeId('gateway', g.id),
            gateway_name: g.name,
            state: g.isReachable ? ('reachable' as const) : ('down' as const),
            confirmed_at: g.confirmedAt?.toISOString() ?? null,
          })),
        },
      ],
    ])
  }
