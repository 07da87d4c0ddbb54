import { createHash } from 'node:crypto'
import { canonicalJson } from '@holdfast/crypto'
import { encodeId } from '../../kernel/ids.ts'
import type { RunEnd, StepRow, WorkflowRunRow } from './runs.queries.ts'

/**
 * Returns everything that a run did in canonical form (RFC 8785), with its SHA-256. Ids are TypeIDs, times RFC 3339. It
 * is kept for a long time and contains no secret, sealed or not.
 */
export function evidenceOf(run: WorkflowRunRow, steps: readonly StepRow[], status: RunEnd, at: Date) {
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
