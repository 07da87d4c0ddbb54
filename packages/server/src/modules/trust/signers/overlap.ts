import { day, hour } from '../../../kernel/time.ts'
import { setLifetime } from '../sets/trust-set.ts'

/**
 * Time for which signatures of a key stay valid, in ms, and so for which the key stays after its last signature. Device
 * credentials are valid for 30 days, bundles and deltas for at most a day, certificates for 7 days. Sets last until
 * every client has had the time to fetch two.
 */
const overlap: Readonly<Record<string, number>> = {
  credential: 31 * day,
  policy: 2 * day,
  'gateway-policy': 2 * day,
  posture: hour,
  'trust-set': 2 * setLifetime,
  'ca-root': 2 * setLifetime,
  'ca-issuing': 8 * day,
}
export const overlapOf = (purpose: string): number => overlap[purpose] ?? 31 * day
