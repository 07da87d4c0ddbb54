import type { Tx } from '../../db/database.ts'
import type { Source } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { WorkflowsDeps } from './deps.ts'
import { evidenceOf } from './evidence.ts'
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
