import { createHash } from 'node:crypto'
import { canonicalJson } from '@holdfast/crypto'
import type { Tx } from '../../db/database.ts'
import type { Source } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { WorkflowsDeps } from './deps.ts'
import { endRun, type RunEnd, type StepRow, type WorkflowRunRow } from './runs.queries.ts'

/** Ends a run, and stores a digest of its evidence that the audit log has too. True for the caller that ended it. */
export const createEnd =
  ({ audit, now }: Pick<WorkflowsDeps, 'audit' | 'now'>) =>
  async (
    tx: Tx,
    source: Source,
    { run, steps }: { run: WorkflowRunRow; steps: StepRow[] },
    status: RunEnd,
  ): Promise<boolean> => {
    const at = now()
    const { evidence, digest } = evidenceOf(run, steps, status, at)
    if (!(await endRun(tx, run.tenant_id, run.workflow_run_id, { status, evidence, digest, at }))) return false
    const workflow_run_id = encodeId('workflow_run', run.workflow_run_id)
    const fields = { workflow: run.workflow, workflow_run_id, status, evidence_digest: digest }
    const target = { type: 'workflow_run', id: workflow_run_id, name: run.workflow }
    const outcome = status === 'failed' ? 'failed' : 'success'
    await audit.record(tx, source, 'workflow.finished', fields, { target, outcome })
    return true
  }

/**
 * Returns everything that a run did in canonical form (RFC 8785), with its SHA-256. Ids are TypeIDs, times RFC 3339. It
 * is kept for a long time and contains no secret, sealed or not.
 */
function evidenceOf(run: WorkflowRunRow, steps: readonly StepRow[], status: RunEnd, at: Date) {
  const { credential: _, stands_for: __, ...requested_by } = run.requested_by
  const evidence = canonicalJson({
    workflow_run_id: encodeId('workflow_run', run.workflow_run_id),
    tenant_id: encodeId('tenant', run.tenant_id),
    kind: run.kind,
    workflow: run.workflow,
    params: run.params,
    reason: run.reason,
    requested_by,
    approved_by: run.approved_by,
    undo_of: run.undo_of && encodeId('workflow_run', run.undo_of),
    status,
    created_at: run.created_at.toISOString(),
    started_at: run.started_at?.toISOString() ?? null,
    finished_at: at.toISOString(),
    steps: steps.map(({ result: { secret_jwe: _, ...result }, ...s }) => ({
      step: s.step,
      action: s.action,
      input: s.input,
      affects: s.affects,
      affects_count: s.affects_count,
      status: s.status,
      result,
      error: s.error,
      attempts: s.attempts,
      started_at: s.started_at?.toISOString() ?? null,
      finished_at: s.finished_at?.toISOString() ?? null,
    })),
  })
  return { evidence, digest: createHash('sha256').update(evidence).digest('hex') }
}
