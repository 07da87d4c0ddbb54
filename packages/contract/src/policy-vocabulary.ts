/** The words of canaries and their gates. */

/** What a canary is compared with stable by: the shares of devices with each. */
export const canaryMeasures = ['denials', 'failed_sessions', 'posture_failures'] as const
export type CanaryMeasure = (typeof canaryMeasures)[number]
/** What follows where a canary fails its gate, and where a gate stands; the last two are for good. */
export const gateFailures = ['hold', 'rollback'] as const
export const gateStates = ['watching', 'passed', 'failed', 'rolled_back'] as const
export type GateState = (typeof gateStates)[number]
