import { useSyncExternalStore } from 'react'
import { clockNow, subscribeToClock } from './clock.ts'
import { formatClock, formatDuration, formatExact, formatRelative } from './format-time.ts'
import { useTimeZone } from './time-zone.ts'

type TimestampProps = {
  /** RFC 3339, as the API gives it. */
  at: string | null | undefined
  /** `clock` shows the time of day, `exact` date and time; both where an order of events matters. */
  as?: 'relative' | 'clock' | 'exact' | undefined
  /** What stands there without a time; a dash unless given. */
  empty?: string | undefined
  className?: string | undefined
}

/**
 * A time, relative to now, with the exact one on hover and in `datetime`.
 *
 * @example <Timestamp at={device.last_seen_at} empty="Never" />
 */
export function Timestamp({ at, as = 'relative', empty = '–', className }: TimestampProps) {
  const zone = useTimeZone()
  const relative = useSyncExternalStore(subscribeToClock, () => (at ? formatRelative(at, clockNow()) : ''))
  if (!at) return <span className="faint">{empty}</span>
  const exact = formatExact(at, zone)
  const shown = { relative, exact, clock: formatClock(at, zone) }[as]
  return (
    <time dateTime={at} title={exact} className={className}>
      {shown}
    </time>
  )
}

/**
 * A length of time.
 *
 * @param seconds - the length
 * @example <Duration seconds={100} /> // 1 min 40 s
 */
export const Duration = ({ seconds }: { seconds: number | null | undefined }) =>
  seconds === null || seconds === undefined ? (
    <span className="faint">–</span>
  ) : (
    <span className="num">{formatDuration(seconds)}</span>
  )
