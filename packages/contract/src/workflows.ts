import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { namedObjects, runAnswerSeconds } from './limits.ts'
import { Closed, Count, Id, List, ListQuery, Nullable, OneOf, Party, Reason, Time } from './schema.ts'
import { permissions, runOperations, runStatuses, stepStatuses, workflowKinds } from './vocabulary.ts'

const Affected = Type.Array(Party, { description: `The first ${namedObjects} of them` })
const Confirmations = Closed(
  {
    seq: Type.Integer({ minimum: 0, description: 'The sequence number that gateways have to enforce' }),
    confirmed: Count,
    waiting: Type.Integer({ minimum: 0, description: 'Gateways that report and do not enforce it yet' }),
    down: Type.Integer({ minimum: 0, description: 'Gateways that do not report; the step does not wait for them' }),
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
    reversible: Type.Boolean(),
    affects: Affected,
    affects_count: Count,
    confirmations: Type.Union([Confirmations, Type.Null()], {
      description: 'Of the step `confirm_gateways` while it runs, read anew for each answer; else null',
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
  status: OneOf(runStatuses, { description: '`planned`: a dry run; it has no id and is not kept' }),
  second_approver: Type.Boolean({ description: 'Whether another person must approve it before it begins' }),
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
      description: 'Permissions that the caller needs besides the right to run it; some parameters need more',
    }),
    second_approver: OneOf(['never', 'always', 'sometimes']),
  },
  { title: 'Workflow' },
)

const given = {
  params: Type.Optional(
    Type.Record(Type.String({ maxLength: 64 }), Type.Unknown(), {
      description: 'Parameters, by the schema in the list',
    }),
  ),
  dry_run: Type.Optional(Type.Boolean({ description: 'Returns the steps without running them' })),
  reason: Type.Optional(Reason),
  undo_after_seconds: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 90 * 86_400,
      description: 'Time at which it is undone automatically, as far as possible',
    }),
  ),
}
const WorkflowName = Type.String({ minLength: 1, maxLength: 64 })
const runs = '/v1/admin/workflows/runs'
const params = Closed({ workflow_run_id: Id('workflow_run') })
const reading = { by: ['session', 'api_key'], permission: 'workflows:read' } as const
const changed = Closed({ operation: OneOf(runOperations), changed: Type.Boolean(), run: WorkflowRunDetail })
const change = Closed({ operation: OneOf(runOperations), reason: Type.Optional(Reason) })

/** For workflows and playbooks alike. */
const listed = Closed({ items: Type.Array(Workflow), runs: Type.Array(WorkflowRun, { description: 'The last 20' }) })

export const listWorkflows = endpoint({
  method: 'GET',
  path: '/v1/admin/workflows',
  summary: 'Every workflow, its parameters and its last runs',
  access: reading,
  response: listed,
})

export const runWorkflow = endpoint({
  method: 'POST',
  path: '/v1/admin/workflows/run',
  summary: `Run a workflow, step by step, with the permissions of the caller; the answer comes after at most ${runAnswerSeconds} seconds: 202 while the run has not ended`,
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
  query: ListQuery({ kind: Type.Optional(OneOf(workflowKinds)) }, ['created_at'] as const),
  response: List(WorkflowRun),
})

export const getWorkflowRun = endpoint({
  method: 'GET',
  path: `${runs}/{workflow_run_id}`,
  summary: 'One run with its steps',
  access: reading,
  params,
  response: WorkflowRunDetail,
})

export const getWorkflowEvidence = endpoint({
  method: 'GET',
  path: `${runs}/{workflow_run_id}/evidence`,
  summary: 'Evidence of an ended run, in the canonical form of its digest',
  access: reading,
  errors: ['validation_error'],
  params,
  response: Closed({
    evidence: Type.String({ description: 'Canonical JSON (RFC 8785)' }),
    evidence_digest: Type.String({ description: 'SHA-256 of it; the audit event workflow.finished says the same' }),
    request_id: Type.String({ description: 'Request id of all audit events of the run' }),
  }),
})

export const changeWorkflowRun = endpoint({
  method: 'POST',
  path: `${runs}/{workflow_run_id}`,
  summary: 'Approve, cancel, resume or undo a run of a workflow',
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
  summary: 'Every playbook, its parameters and its last runs',
  access: { by: ['session', 'api_key'], permission: 'incidents:read' },
  response: listed,
})

export const runPlaybook = endpoint({
  method: 'POST',
  path: '/v1/admin/incident/playbook',
  summary: `Run a playbook, step by step, with the permissions of the caller; the answer comes after at most ${runAnswerSeconds} seconds: 202 while the run has not ended`,
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
        description: 'Another name of the field `workflow`; give one of them',
      }),
    ),
    ...given,
  }),
  response: Closed({ run: WorkflowRunDetail }),
})

export const changePlaybookRun = endpoint({
  method: 'POST',
  path: '/v1/admin/incident/runs/{workflow_run_id}',
  summary: 'Approve, cancel, resume or undo a run of a playbook',
  access: { by: ['session', 'api_key'], permission: 'incidents:run' },
  audit: 'workflow.changed',
  patience: 60,
  params,
  body: change,
  response: changed,
})
