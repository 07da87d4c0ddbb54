import { reportedTimes } from '@holdfast/contract/limits'
import { day, minute, second } from '../../../kernel/time.ts'

/** Maximum age of reported times, and maximum time ahead of the server's clock. */
const acceptedPastMs = reportedTimes.pastDays * day
export const acceptedAheadMs = reportedTimes.aheadMinutes * minute
/** Accepted range, as errors name it. */
export const acceptedRange = `must be between ${reportedTimes.pastDays} days ago and ${reportedTimes.aheadMinutes} minutes from now`

/**
 * Reads an RFC 3339 time, corrected by the clock offset. Undefined if the calendar has no such time (a leap second) or
 * it is out of the accepted range.
 */
export function acceptedInstant(text: string, nowMs: number, aheadMs = 0): Date | undefined {
  const ms = Date.parse(text) - aheadMs
  return ms >= nowMs - acceptedPastMs && ms <= nowMs + acceptedAheadMs ? new Date(ms) : undefined
}

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
