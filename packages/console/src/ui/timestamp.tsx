import { useSyncExternalStore } from 'react'
import { clockNow, subscribeToClock } from './clock.ts'
import { formatClock, formatDuration, formatExact, formatRelative } from './format-time.ts'
import { useTimeZone } from './time-zone.ts'

type TimestampProps = {
  /** RFC 3339, as in the API. */
  at: string | null | undefined
  /** `clock` shows the time of day, `exact` date and time; for places where the order of events matters. */
  as?: 'relative' | 'clock' | 'exact' | undefined
  /** Text if there is no time; default: a dash. */
  empty?: string | undefined
  className?: string | undefined
}

/**
 * Time relative to now, with the exact time on hover and in `datetime`.
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
 * Duration.
 *
 * @param seconds - the duration
 * @example <Duration seconds={100} /> // 1 min 40 s
 */
export const Duration = ({ seconds }: { seconds: number | null | undefined }) =>
  seconds === null || seconds === undefined ? (
    <span className="faint">–</span>
  ) : (
    <span className="num">{formatDuration(seconds)}</span>
  )
