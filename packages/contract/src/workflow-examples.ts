import { exampleId } from './schema.ts'

const user_id = exampleId('user')
const device_id = exampleId('device')

/** Example bodies for locks, runs and saved views. */
export const workflowExamples = {
  createLock: { target: { type: 'device', id: device_id }, reason: 'lost on a train', expires_in_seconds: 86_400 },
  createView: { list: 'devices', name: 'windows', query: { platform: 'windows', sort: '-enrolled_at' }, shared: true },
  updateView: { name: 'windows 11', query: { platform: 'windows' }, shared: true },
  releaseLock: { reason: 'found again' },
  runWorkflow: { workflow: 'offboard_user', params: { user_id }, reason: 'left the company', dry_run: true },
  changeWorkflowRun: { operation: 'cancel', reason: 'not needed any more' },
  runPlaybook: { workflow: 'lost_device', params: { device_id }, reason: 'lost on a train', dry_run: true },
  changePlaybookRun: { operation: 'cancel', reason: 'found again' },
} as const
