import { longestGatewayPolicySeconds } from '@holdfast/contract/limits'
import { day, hour, minute, second } from '../../kernel/time.ts'

/** Validity in ms of what the keys of a tenant sign. */
export const signedLifetimes = {
  /** A device credential bound to a device key. One without a key is shorter. */
  credential: 30 * day,
  policyBundle: day,
  policyPointer: hour,
  postureAssertion: 10 * minute,
  /** A set is issued anew after half of its time, so that clients that refresh always have a valid one. */
  trustSet: 7 * day,
  /** A certificate of a device, and a revocation list. */
  certificate: day,
} as const

/** Certificates and revocation lists are backdated, because clocks of verifiers may be slow. */
export const backdated = 5 * minute

/**
 * Time for which signatures of a key stay valid, in ms, and so for which the key stays after its last signature: longer
 * than the lifetime, since clocks differ. Sets last until every client has had the time to fetch two.
 */
const overlap: Readonly<Record<string, number>> = {
  credential: signedLifetimes.credential + day,
  policy: signedLifetimes.policyBundle + day,
  'gateway-policy': longestGatewayPolicySeconds * second + day,
  posture: 6 * signedLifetimes.postureAssertion,
  'trust-set': 2 * signedLifetimes.trustSet,
  'ca-root': 2 * signedLifetimes.trustSet,
  'ca-issuing': signedLifetimes.certificate + signedLifetimes.trustSet,
}
export const overlapOf = (purpose: string): number => overlap[purpose] ?? signedLifetimes.credential + day
