import { day, hour } from '../../../kernel/time.ts'
import { setLifetime } from '../sets/trust-set.ts'

/**
 * How long what a key signed is good for, and so how long its key stays after the last signature: device credentials 30
 * days, bundles and deltas a day at most, sets until everybody has had the time to fetch two, certificates 7 days.
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
