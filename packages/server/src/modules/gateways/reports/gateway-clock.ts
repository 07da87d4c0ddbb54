import { second } from '../../../kernel/time.ts'

/** What a clock is off by beyond this is no delay on the way. */
export const mostOffsetMs = 5 * second

/** How far (ms) the clock of whoever sent this then is ahead, less its way; null: no clock shows that time. */
export function aheadOf(sentAt: string | undefined, at: Date): number | null {
  const ms = sentAt === undefined ? Number.NaN : Date.parse(sentAt)
  return ms >= 0 ? ms - at.getTime() : null
}

/** What is to be taken from the times of a report, so that they are by the clock here. */
export function correctionOf(sentAt: string | undefined, at: Date): number {
  const ahead = aheadOf(sentAt, at) ?? 0
  return Math.abs(ahead) < mostOffsetMs ? 0 : ahead
}
