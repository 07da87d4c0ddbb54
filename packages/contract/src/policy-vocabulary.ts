/** Vocabulary of canaries and their gates, and of drafts. */

/** Measures that compare a canary with stable: the shares of devices with each. */
export const canaryMeasures = ['denials', 'failed_sessions', 'posture_failures'] as const
export type CanaryMeasure = (typeof canaryMeasures)[number]
/** Actions after a canary fails its gate, and the states of a gate; the last two states are final. */
export const gateFailures = ['hold', 'rollback'] as const
export const gateStates = ['watching', 'passed', 'failed', 'rolled_back'] as const
export type GateState = (typeof gateStates)[number]

/** Most drafts that one caller creates, most drafts of a tenant, and most bytes of the text of a draft. */
export const draftLimits = { own: 50, tenant: 500, bytes: 1024 * 1024 } as const

/** Parts of a document in which a merge can find conflicts. `document`: its other fields. */
export const mergeParts = [
  'rules',
  'resources',
  'hosts',
  'groups',
  'posture_checks',
  'tests',
  'settings',
  'document',
] as const
export type MergePart = (typeof mergeParts)[number]
