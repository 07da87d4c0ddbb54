import { day, minute } from '../../../kernel/time.ts'

/** What gateways and devices report may be this old and this far ahead of the clock here. */
const acceptedPastMs = 7 * day
export const acceptedAheadMs = 5 * minute

/** An RFC 3339 time, or undefined where the calendar has none (a leap second) or it is out of the accepted range. */
export function acceptedInstant(text: string, nowMs: number): Date | undefined {
  const ms = Date.parse(text)
  return ms >= nowMs - acceptedPastMs && ms <= nowMs + acceptedAheadMs ? new Date(ms) : undefined
}
