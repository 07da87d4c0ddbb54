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
    detail: `${requester ?? 'Somebody'} asks for it${why}. Nothing of it is carried out until somebody else, signed in as a person who may carry out every step, approves it; after a day it is called off. Look at its steps first.\nGET /v1/admin/workflows/runs/${runId}`,
    subject: { type: 'workflow_run', id: runId, name },
    dedupe_key: causeOf(id),
  }
}
