import { hour, minute } from '../../../kernel/time.ts'
import type { SourceRow } from './sources.queries.ts'

/** Longest wait after failures, unless the interval is longer. */
const longestWait = 24 * hour
type Scheduled = Pick<SourceRow, 'enabled' | 'interval_minutes'>

/** A random time within the first interval, so that sources created together are not read together. */
export const firstRun = ({ enabled, interval_minutes }: Scheduled, at: Date): Date | null =>
  enabled ? new Date(at.getTime() + Math.random() * interval_minutes * minute) : null

/** Varies the interval by a tenth in either direction. Each failure in a row doubles it. */
export function nextRun({ enabled, interval_minutes }: Scheduled, at: Date, failures: number): Date | null {
  if (!enabled) return null
  const interval = interval_minutes * minute
  const wait = Math.min(interval * 2 ** Math.min(failures, 10), Math.max(longestWait, interval))
  return new Date(at.getTime() + wait * (0.9 + Math.random() * 0.2))
}
