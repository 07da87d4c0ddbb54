/** Vocabulary of the first setup: the use of enrollment tokens, and the steps of a tenant. */

/** Outcomes of the use of an enrollment token. */
export const attemptOutcomes = ['enrolled', 'refused', 'waiting_for_approval'] as const
export type AttemptOutcome = (typeof attemptOutcomes)[number]
/** Reasons why the use of an enrollment token was refused. */
export const attemptReasons = [
  'address_not_allowed',
  'addresses_exhausted',
  'bootstrap_token',
  'device_key_in_use',
  'expired',
  'invalid_request',
  'key_proof_invalid',
  'key_proof_missing',
  'key_proof_replayed',
  'plan_limit_reached',
  'rate_limited',
  'revoked',
  'server_error',
  'tenant_suspended',
  'used_up',
  'user_inactive',
  'user_limit_reached',
  'wireguard_key_in_use',
  'wrong_platform',
] as const
export type AttemptReason = (typeof attemptReasons)[number]

/** Steps of setting up a tenant, in the recommended order. */
export const startSteps = [
  'sign_in',
  'gateway',
  'policy',
  'enrollment_token',
  'device_enrolled',
  'device_online',
  'audit_forwarding',
] as const
export type StartStepName = (typeof startSteps)[number]
