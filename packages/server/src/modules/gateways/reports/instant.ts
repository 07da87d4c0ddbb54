import { day, minute } from '../../../kernel/time.ts'

/** What gateways and devices report may be this old and this far ahead of the clock here. */
const acceptedPastMs = 7 * day
export const acceptedAheadMs = 5 * minute

/**
 * An RFC 3339 time, less what its clock is ahead, or undefined where the calendar has none (a leap second) or it is out
 * of the accepted range.
 */
export function acceptedInstant(text: string, nowMs: number, aheadMs = 0): Date | undefined {
  const ms = Date.parse(text) - aheadMs
  return ms >= nowMs - acceptedPastMs && ms <= nowMs + acceptedAheadMs ? new Date(ms) : undefined
}
