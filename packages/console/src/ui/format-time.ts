/** Time zone of shown times. */
export type TimeZone = 'utc' | 'local'

const minute = 60
const hour = 60 * minute
const day = 24 * hour
/** Units, largest first. At most two adjacent ones are shown. */
const units = [
  [365 * day, 'y'],
  [30 * day, 'mo'],
  [day, 'd'],
  [hour, 'h'],
  [minute, 'min'],
  [1, 's'],
] as const

/**
 * Formats a duration with at most two units.
 *
 * @param seconds - the duration
 * @example formatDuration(100) // '1 min 40 s'
 */
export function formatDuration(seconds: number): string {
  if (seconds > 0 && seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`
  if (seconds < 10 && !Number.isInteger(seconds)) return `${seconds.toFixed(1)} s`
  const whole = Math.max(0, Math.round(seconds))
  const from = durationUnits.findIndex(([size]) => whole >= size)
  if (from === -1) return '0 s'
  const [size, name] = durationUnits[from]!
  const count = Math.floor(whole / size)
  const next = durationUnits[from + 1]
  const rest = next ? Math.floor((whole % size) / next[0]) : 0
  return rest > 0 && next ? `${count} ${name} ${rest} ${next[1]}` : `${count} ${name}`
}
const durationUnits = units.slice(2)

/**
 * Formats a time as its distance from now. Up to 10 s in either direction is "now": clocks differ by that much.
 *
 * @param at - RFC 3339
 * @param now - milliseconds since 1970
 * @example formatRelative('2026-11-27T14:00:00Z', Date.parse('2026-11-27T14:16:10Z')) // '16 min ago'
 */
export function formatRelative(at: string, now: number): string {
  const seconds = (now - Date.parse(at)) / 1000
  if (Number.isNaN(seconds)) return at
  const distance = Math.abs(seconds)
  if (distance <= 10) return 'now'
  const [size, name] = units.find(([size]) => distance >= (size === 30 * day ? 60 * day : size)) ?? units[5]
  const text = `${Math.floor(distance / size)} ${name}`
  return seconds > 0 ? `${text} ago` : `in ${text}`
}

const two = (n: number) => String(n).padStart(2, '0')

/** Returns the parts of a time in a zone, and the text of its offset. */
function partsOf(at: string, zone: TimeZone) {
  const date = new Date(at)
  const offset = zone === 'utc' ? 0 : -date.getTimezoneOffset()
  const shifted = new Date(date.getTime() + offset * 60_000)
  const sign = offset < 0 ? '-' : '+'
  const size = Math.abs(offset)
  return {
    date: `${shifted.getUTCFullYear()}-${two(shifted.getUTCMonth() + 1)}-${two(shifted.getUTCDate())}`,
    clock: `${two(shifted.getUTCHours())}:${two(shifted.getUTCMinutes())}:${two(shifted.getUTCSeconds())}`,
    zone: zone === 'utc' ? 'UTC' : `UTC${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`,
  }
}

/** @example formatExact('2026-11-27T14:01:00Z', 'utc') // '2026-11-27 14:01:00 UTC' */
export function formatExact(at: string, zone: TimeZone): string {
  if (Number.isNaN(Date.parse(at))) return at
  const parts = partsOf(at, zone)
  return `${parts.date} ${parts.clock} ${parts.zone}`
}

/** @example formatClock('2026-11-27T14:01:48Z', 'utc') // '14:01:48' */
export const formatClock = (at: string, zone: TimeZone): string =>
  Number.isNaN(Date.parse(at)) ? at : partsOf(at, zone).clock
