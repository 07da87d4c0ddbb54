/**
 * Targets of a lock: a person with everything that is theirs, a device, a gateway, or the devices of a group or tenant.
 */
export const lockTargets = ['user', 'device', 'gateway', 'group', 'tenant'] as const
export type LockTarget = (typeof lockTargets)[number]

export const workflowKinds = ['workflow', 'playbook'] as const
export type WorkflowKind = (typeof workflowKinds)[number]
export const runStatuses = ['planned', 'awaiting_approval', 'running', 'succeeded', 'failed', 'cancelled'] as const
export type RunStatus = (typeof runStatuses)[number]
export const stepStatuses = ['pending', 'running', 'succeeded', 'failed'] as const
export type StepStatus = (typeof stepStatuses)[number]
export const runOperations = ['approve', 'cancel', 'resume', 'undo'] as const
export type RunOperation = (typeof runOperations)[number]
