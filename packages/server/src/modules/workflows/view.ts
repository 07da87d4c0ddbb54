import type { Output } from '@holdfast/contract'
import type { listWorkflowRuns, listWorkflows, runWorkflow } from '@holdfast/contract/workflows'
import type { StoredParty } from '../../db/tables/columns.ts'
import type { RunRequester } from '../../db/tables/workflows.ts'
import type { Actor } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Definition } from './definition.ts'
import { type Planned, stored } from './plan.ts'
import type { StepRow, WorkflowRunRow } from './runs.queries.ts'
import type { Run, RunRequest } from './runs.ts'

type RunView = Output<typeof listWorkflowRuns>['items'][number]
export type RunDetail = Output<typeof runWorkflow>['run']
type WorkflowView = Output<typeof listWorkflows>['items'][number]

const party = ({ type, id, name }: StoredParty | RunRequester) => ({ type, id, name })
const time = (at: Date | null): string | null => at?.toISOString() ?? null

export const viewRun = (run: WorkflowRunRow): RunView => ({
  workflow_run_id: encodeId('workflow_run', run.workflow_run_id),
  kind: run.kind,
  workflow: run.workflow,
  params: run.params,
  reason: run.reason,
  status: run.status,
  second_approver: run.second_approver,
  approval_expires_at: time(run.approval_expires_at),
  requested_by: party(run.requested_by),
  approved_by: run.approved_by && party(run.approved_by),
  cancelled_at: time(run.cancelled_at),
  undo_of: run.undo_of && encodeId('workflow_run', run.undo_of),
  undo_at: time(run.undo_at),
  evidence_digest: run.evidence_digest,
  created_at: run.created_at.toISOString(),
  started_at: time(run.started_at),
  finished_at: time(run.finished_at),
})

export type ShownConfirmations = RunDetail['steps'][number]['confirmations']
/** `confirmations`: those of the step that waits for gateways now. */
export const viewDetail = ({ run, steps }: Run, confirmations: ReadonlyMap<number, ShownConfirmations>): RunDetail => ({
  ...viewRun(run),
  steps: steps.map((s) => viewStep(s, confirmations.get(s.step) ?? null)),
})

const viewStep = (s: StepRow, confirmations: ShownConfirmations) => ({
  step: s.step,
  action: s.action,
  summary: s.summary,
  status: s.status,
  on_error: s.on_error,
  reversible: s.reversible,
  affects: s.affects,
  affects_count: s.affects_count,
  confirmations,
  result: s.result,
  error: s.error,
  attempts: s.attempts,
  started_at: time(s.started_at),
  finished_at: time(s.finished_at),
})

/** Returns a planned run in the form of a real one. */
export const viewPlan = (
  { definition, secondApprover, steps }: Planned,
  actor: Actor,
  asked: RunRequest,
  at: Date,
): RunDetail => ({
  workflow_run_id: null,
  kind: definition.kind,
  workflow: definition.name,
  params: asked.params,
  reason: asked.reason ?? null,
  status: 'planned',
  second_approver: secondApprover,
  approval_expires_at: null,
  requested_by: party(actor),
  approved_by: null,
  cancelled_at: null,
  undo_of: null,
  undo_at: null,
  evidence_digest: null,
  created_at: at.toISOString(),
  started_at: null,
  finished_at: null,
  steps: steps.map(stored).map(({ input: _, ...step }, i) => ({
    step: i + 1,
    ...step,
    affects: step.affects.map(party),
    status: 'pending' as const,
    confirmations: null,
    result: {},
    error: null,
    attempts: 0,
    started_at: null,
    finished_at: null,
  })),
})

export const viewDefinition = ({
  name,
  kind,
  summary,
  params,
  permissions,
  secondApprover,
}: Definition): WorkflowView => ({
  workflow: name,
  kind,
  summary,
  params: JSON.parse(JSON.stringify(params)),
  permissions: [...permissions],
  second_approver: typeof secondApprover === 'function' ? 'sometimes' : secondApprover,
})
