import type { WorkflowKind } from '@holdfast/contract/vocabulary'
import { encodeId } from '../../kernel/ids.ts'
import type { Notice } from '../notifications/index.ts'

export const causeOf = (runId: string) => `workflow.awaiting_approval:${runId}`

type Waiting = { id: string; kind: WorkflowKind; name: string; requester: string | null; reason: string | undefined }
/** Notice of a run that waits for the approval of another person. */
export const waitingNotice = ({ id, kind, name, requester, reason }: Waiting): Notice => {
  const runId = encodeId('workflow_run', id)
  const why = reason === undefined ? '' : ` (${reason})`
  return {
    kind: 'workflow.awaiting_approval',
    severity: 'warning',
    title: `The ${kind} ${name} waits for a second approver`,
    detail: `${requester ?? 'An administrator'} requested it${why}. It starts when another person who has the permissions of every step approves it. Without approval it is cancelled after a day. Check its steps first.\nGET /v1/admin/workflows/runs/${runId}`,
    subject: { type: 'workflow_run', id: runId, name },
    dedupe_key: causeOf(id),
  }
}
