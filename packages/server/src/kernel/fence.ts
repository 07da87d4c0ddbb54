import { second } from './time.ts'

/**
 * After a database was set back, tenants go on from numbers that no earlier moment can have given out, however far it
 * was set back and however often: they grow with time, faster than anything that is numbered.
 */
const since = Date.UTC(2026, 0, 1)
/** More than a tenant changes in a second, for years; and the numbers of 100,000 tenants add up exactly until 2036. */
const perSecond = 256

const secondsAt = (at: Date): number => Math.floor((at.getTime() - since) / second)

/** For sequence numbers, trust sets and revocation lists. */
export const fenceAt = (at: Date | null | undefined): number => (at ? secondsAt(at) * perSecond : 0)
/** For metadata of TUF, whose versions clients take up to nine digits of. */
export const smallFenceAt = (at: Date | null | undefined): number => (at ? secondsAt(at) : 0)
/** Where time is not enough, because a number was far ahead of it. */
export const leap = 2 ** 32
