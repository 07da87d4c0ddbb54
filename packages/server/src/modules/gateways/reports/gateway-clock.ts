import { second } from '../../../kernel/time.ts'

/** A clock offset below this may be network delay and is ignored. */
export const mostOffsetMs = 5 * second

/** Returns how far (ms) the sender's clock is ahead, minus the network delay; null for an invalid time. */
export function aheadOf(sentAt: string | undefined, at: Date): number | null {
  const ms = sentAt === undefined ? Number.NaN : Date.parse(sentAt)
  return ms >= 0 ? ms - at.getTime() : null
}

/** Returns the correction (ms) to subtract from the times of a report. */
export function correctionOf(sentAt: string | undefined, at: Date): number {
  const ahead = aheadOf(sentAt, at) ?? 0
  return Math.abs(ahead) < mostOffsetMs ? 0 : ahead
}
