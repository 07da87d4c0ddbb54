import { day, minute } from '../../../kernel/time.ts'

/** Maximum age of reported times, and maximum time ahead of the server's clock. */
const acceptedPastMs = 7 * day
export const acceptedAheadMs = 5 * minute

/**
 * Reads an RFC 3339 time, corrected by the clock offset. Undefined if the calendar has no such time (a leap second) or
 * it is out of the accepted range.
 */
export function acceptedInstant(text: string, nowMs: number, aheadMs = 0): Date | undefined {
  const ms = Date.parse(text) - aheadMs
  return ms >= nowMs - acceptedPastMs && ms <= nowMs + acceptedAheadMs ? new Date(ms) : undefined
}
