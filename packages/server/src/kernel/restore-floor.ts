import { second } from './time.ts'

/**
 * Start of the numbers after a restore. They grow with time, faster than any numbered data, so they are higher than any
 * number issued before, however old the backup is and however often it is restored.
 */
const since = Date.UTC(2026, 0, 1)
/**
 * More changes per second than a tenant makes over years. The sum of 100,000 tenants' numbers stays exact until 2036.
 */
const perSecond = 256

const secondsAt = (at: Date): number => Math.floor((at.getTime() - since) / second)

/** For sequence numbers, trust sets and revocation lists. */
export const restoreFloorAt = (at: Date | null | undefined): number => (at ? secondsAt(at) * perSecond : 0)
/** For TUF metadata: clients accept versions of up to nine digits. */
export const tufRestoreFloorAt = (at: Date | null | undefined): number => (at ? secondsAt(at) : 0)
/** Increment if a number is already ahead of the time-based one. */
export const restoreLeap = 2 ** 32
