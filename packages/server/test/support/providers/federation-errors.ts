import { FederationError } from '../../../src/modules/federation/enrollment/proven.ts'

/** For `assert.rejects`: true for a refusal of a sign-in with this reason. */
export const hasReason = (reason: FederationError['reason']) => (e: unknown) =>
  e instanceof FederationError && e.reason === reason
