/** Vocabulary of canaries and their gates. */

/** Measures that compare a canary with stable: the shares of devices with each. */
export const canaryMeasures = ['denials', 'failed_sessions', 'posture_failures'] as const
export type CanaryMeasure = (typeof canaryMeasures)[number]
/** Actions after a canary fails its gate, and the states of a gate; the last two states are final. */
export const gateFailures = ['hold', 'rollback'] as const
export const gateStates = ['watching', 'passed', 'failed', 'rolled_back'] as const
export type GateState = (typeof gateStates)[number]
