import assert from 'node:assert/strict'
import type { Operation } from '@holdfast/contract'
import type { Setup } from './writes.ts'

/** Writes of runs that need more than an example. */
export const workflowWrites: Partial<Record<Operation, Setup>> = {
  // A run that waits for approval, so that it can be cancelled.
  changePlaybookRun: async (kit, world) => {
    const [signer] = (await kit.admin.listSigners({ query: { purpose: 'posture', state: 'active' } })).items
    assert.ok(signer)
    const params = { signer_id: signer.signer_id }
    const { run } = await kit.admin.runPlaybook({ body: { playbook: 'signing_key_compromise', params } })
    const path = { workflow_run_id: run.workflow_run_id! }
    return { caller: world.callers.api_key, path, body: { operation: 'cancel' } }
  },
}
