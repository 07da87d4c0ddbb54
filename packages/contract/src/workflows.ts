import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { namedObjects, runAnswerSeconds } from './limits.ts'
import { Closed, Count, Id, List, ListQuery, Nullable, OneOf, Party, Reason, Time, WasChanged } from './schema.ts'
import { permissions, runOperations, runStatuses, stepStatuses, workflowKinds } from './vocabulary.ts'

const Affected = Type.Array(Party, { description: `The first ${namedObjects} of them` })
const Confirmations = Closed(
  {
    seq: Type.Integer({ minimum: 0, description: 'The sequence number that gateways have to enforce' }),
    confirmed: Count,
    waiting: Type.Integer({ minimum: 0, description: 'Number of gateways that report and do not enforce it yet' }),
    down: Type.Integer({
      minimum: 0,
      description: 'Number of gateways that do not report. The step does not wait for them',
    }),
    gateways: Type.Array(
      Closed({
        gateway_id: Id('gateway'),
        gateway_name: Type.String(),
        state: OneOf(['reachable', 'down']),
        confirmed_at: Nullable(Time),
      }),
      { description: 'Unconfirmed gateways first; at most 200' },
    ),
  },
  { title: 'GatewayConfirmations' },
)
const Step = Closed(
  {
    step: Count,
    action: Type.String({ description: 'An operation of this API, or `confirm_gateways`' }),
    summary: Type.String(),
    status: OneOf(stepStatuses),
    on_error: OneOf(['stop', 'continue']),
    reversible: Type.Boolean({ description: 'True: an undo of the run reverses this step' }),
    affects: Affected,
    affects_count: Count,
    confirmations: Type.Union([Confirmations, Type.Null()], {
      description: 'Current confirmations of a running step `confirm_gateways`; null otherwise',
    }),
    result: Type.Record(Type.String(), Type.Unknown(), { description: 'Result of the operation' }),
    error: Nullable(Type.String()),
    attempts: Count,
    started_at: Nullable(Time),
    finished_at: Nullable(Time),
  },
  { title: 'WorkflowStep' },
)
const runFields = {
  workflow_run_id: Nullable(Id('workflow_run')),
  kind: OneOf(workflowKinds),
  workflow: Type.String(),
  params: Type.Record(Type.String(), Type.Unknown()),
  reason: Nullable(Type.String()),
  status: OneOf(runStatuses, { description: '`planned`: a dry run, which has no id and is not stored' }),
  second_approver: Type.Boolean({ description: 'True: another person must approve the run before it begins' }),
  approval_expires_at: Nullable(Time),
  requested_by: Party,
  approved_by: Nullable(Party),
  cancelled_at: Nullable(Time),
  undo_of: Nullable(Id('workflow_run')),
  undo_at: Nullable(Time),
  evidence_digest: Nullable(Type.String({ description: 'SHA-256 of its evidence, once it has ended' })),
  created_at: Time,
  started_at: Nullable(Time),
  finished_at: Nullable(Time),
}
export const WorkflowRun = Closed(runFields, { title: 'WorkflowRun' })
export const WorkflowRunDetail = Closed({ ...runFields, steps: Type.Array(Step) }, { title: 'WorkflowRunDetail' })

const Workflow = Closed(
  {
    workflow: Type.String(),
    kind: OneOf(workflowKinds),
    summary: Type.String(),
    params: Type.Unknown({ description: 'JSON Schema of its parameters' }),
    permissions: Type.Array(OneOf(permissions), {
      description:
        'Permissions that the caller needs in addition to the permission to run it. Some parameters need more',
    }),
    second_approver: OneOf(['never', 'always', 'sometimes']),
  },
  { title: 'Workflow' },
)

const given = {
  params: Type.Optional(
    Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
      description: 'Parameters of the run. The list of workflows has their schema',
    }),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'Returns the steps without running them' })),
  reason: Type.Optional(Reason),
  undo_after_seconds: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 90 * 86_400,
      description: 'Seconds after which the run is undone automatically, as far as possible',
    }),
  ),
}
const WorkflowName = Type.String({ minLength: 1, maxLength: 64 })
const runs = '/v1/admin/workflows/runs'
const params = Closed({ workflow_run_id: Id('workflow_run') })
const reading = { by: ['session', 'api_key'], permission: 'workflows:read' } as const
const changed = Closed({ operation: OneOf(runOperations), changed: WasChanged, run: WorkflowRunDetail })
const change = Closed({ operation: OneOf(runOperations), reason: Type.Optional(Reason) })

/** For workflows and playbooks alike. */
const listed = Closed({ items: Type.Array(Workflow), runs: Type.Array(WorkflowRun, { description: 'Last 20 runs' }) })

export const listWorkflows = endpoint({
  method: 'GET',
  path: '/v1/admin/workflows',
  summary: 'List workflows',
  description: 'Each has its parameters and its last runs.',
  access: reading,
  response: listed,
})

export const runWorkflow = endpoint({
  method: 'POST',
  path: '/v1/admin/workflows/run',
  summary: 'Run a workflow',
  description: `The steps run one after the other, with the permissions of the caller. The answer follows after at most ${runAnswerSeconds} seconds. It is 202 while the run has not ended.`,
  access: { by: ['session', 'api_key'], permission: 'workflows:run' },
  audit: 'workflow.started',
  goesOn: true,
  patience: 60,
  body: Closed({ workflow: WorkflowName, ...given }),
  response: Closed({ run: WorkflowRunDetail }),
})

export const listWorkflowRuns = endpoint({
  method: 'GET',
  path: runs,
  summary: 'List runs of workflows and playbooks',
  access: reading,
  query: ListQuery({ kind: Type.Optional(OneOf(workflowKinds)) }, ['created_at'] as const, '-created_at'),
  response: List(WorkflowRun),
})

export const getWorkflowRun = endpoint({
  method: 'GET',
  path: `${runs}/{workflow_run_id}`,
  summary: 'Get a workflow run',
  description: 'The answer has its steps.',
  access: reading,
  params,
  response: WorkflowRunDetail,
})

export const getWorkflowEvidence = endpoint({
  method: 'GET',
  path: `${runs}/{workflow_run_id}/evidence`,
  summary: 'Get the evidence of an ended run',
  description: 'The evidence has the canonical form of its digest. The answer is 422 before the run has ended.',
  access: reading,
  errors: ['validation_error'],
  params,
  response: Closed({
    evidence: Type.String({ description: 'Canonical JSON (RFC 8785)' }),
    evidence_digest: Type.String({
      description: 'SHA-256 of the evidence. The audit event `workflow.finished` has the same value',
    }),
    request_id: Type.String({ description: 'Request id of all audit events of the run' }),
  }),
})

export const changeWorkflowRun = endpoint({
  method: 'POST',
  path: `${runs}/{workflow_run_id}`,
  summary: 'Approve, cancel, resume or undo a workflow run',
  access: { by: ['session', 'api_key'], permission: 'workflows:run' },
  audit: 'workflow.changed',
  patience: 60,
  params,
  body: change,
  response: changed,
})

export const listPlaybooks = endpoint({
  method: 'GET',
  path: '/v1/admin/incident/playbook',
  summary: 'List playbooks',
  description: 'Each has its parameters and its last runs.',
  access: { by: ['session', 'api_key'], permission: 'incidents:read' },
  response: listed,
})

export const runPlaybook = endpoint({
  method: 'POST',
  path: '/v1/admin/incident/playbook',
  summary: 'Run a playbook',
  description: `The steps run one after the other, with the permissions of the caller. The answer follows after at most ${runAnswerSeconds} seconds. It is 202 while the run has not ended.`,
  access: { by: ['session', 'api_key'], permission: 'incidents:run' },
  audit: 'workflow.started',
  goesOn: true,
  patience: 60,
  body: Closed({
    workflow: Type.Optional(WorkflowName),
    playbook: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Second name of the field `workflow`. Give one of them',
      }),
    ),
    ...given,
  }),
  response: Closed({ run: WorkflowRunDetail }),
})

export const changePlaybookRun = endpoint({
  method: 'POST',
  path: '/v1/admin/incident/runs/{workflow_run_id}',
  summary: 'Approve, cancel, resume or undo a playbook run',
  access: { by: ['session', 'api_key'], permission: 'incidents:run' },
  audit: 'workflow.changed',
  patience: 60,
  params,
  body: change,
  response: changed,
})
