const dayMs = 86_400_000

/** What gateways and devices report may be this old and this far ahead of the clock here. */
export const acceptedPastMs = 7 * dayMs
export const acceptedAheadMs = 5 * 60_000

/** An RFC 3339 time, or undefined where the calendar has none (a leap second) or it is out of the accepted range. */
export function acceptedInstant(text: string, nowMs: number): Date | undefined {
  const ms = Date.parse(text)
  return ms >= nowMs - acceptedPastMs && ms <= nowMs + acceptedAheadMs ? new Date(ms) : undefined
}
