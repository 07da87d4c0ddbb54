import type { PolicyTimeWindow } from '@holdfast/contract/policy-document'

/** A window in the local time of a zone: `from` inclusive, `to` exclusive, in minutes of the day. */
export type TimeWindow = {
  readonly zone: string
  readonly from: number
  readonly to: number
  /** Days on which the window starts: one bit each, Monday is bit 0. */
  readonly days: number
}

const dayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
const minuteMs = 60_000
const dayMs = 86_400_000
const horizonMs = 8 * dayMs

const minuteOf = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3))

export function compileWindow({ zone, from, to, days }: PolicyTimeWindow): TimeWindow {
  const starts: readonly (typeof dayNames)[number][] = days ?? dayNames
  const bits = starts.reduce((sum, day) => sum | (1 << dayNames.indexOf(day)), 0)
  return { zone, from: minuteOf(from), to: minuteOf(to), days: bits }
}

/** True if one of the windows is open at an instant. */
export const isOpen = (windows: readonly TimeWindow[], nowMs: number): boolean =>
  windows.some((window) => isWindowOpen(window, nowMs))

function isWindowOpen({ zone, from, to, days }: TimeWindow, nowMs: number): boolean {
  const local = Math.floor((nowMs + offsetAt(zone, nowMs)) / minuteMs)
  const day = Math.floor(local / 1_440)
  const minute = local - day * 1_440
  const startsOn = (date: number): boolean => ((days >> modulo(date + 3, 7)) & 1) === 1
  if (from < to) return from <= minute && minute < to && startsOn(day)
  return (minute >= from && startsOn(day)) || (minute < to && startsOn(day - 1))
}

/** 1970-01-01, day 0, was a Thursday. */
const modulo = (n: number, m: number): number => ((n % m) + m) % m

/**
 * Returns the first instant after `nowMs` at which `isOpen` changes. If that is more than eight days away (windows that
 * are never shut), it returns an instant about that far ahead, at which the caller has to ask again.
 */
export function nextChange(windows: readonly TimeWindow[], nowMs: number): number {
  const open = isOpen(windows, nowMs)
  let at = nowMs
  while (at < nowMs + horizonMs) {
    at = Math.min(...windows.map((window) => nextEdge(window, at)))
    if (isOpen(windows, at) !== open) return at
  }
  return at
}

/**
 * Returns the next instant at which the window could open or shut: one of its edges in local time, or a change of the
 * zone's offset.
 */
function nextEdge({ zone, from, to }: TimeWindow, nowMs: number): number {
  const offset = offsetAt(zone, nowMs)
  const local = nowMs + offset
  const midnight = Math.floor(local / dayMs) * dayMs
  const edges = [from, to, from + 1_440, to + 1_440].map((minute) => midnight + minute * minuteMs)
  const edge = Math.min(...edges.filter((instant) => instant > local)) - offset
  return offsetAt(zone, edge) === offset ? edge : clockChange(zone, nowMs, edge)
}

/** Returns when the offset at `before` ends. At `after` it has already changed. */
function clockChange(zone: string, before: number, after: number): number {
  const offset = offsetAt(zone, before)
  let [lo, hi] = [before, after]
  while (hi - lo > 1) {
    const middle = Math.floor((lo + hi) / 2)
    if (offsetAt(zone, middle) === offset) lo = middle
    else hi = middle
  }
  return hi
}

type Clock = { readonly format: Intl.DateTimeFormat; readonly offsets: Map<number, number> }

const clocks = new Map<string, Clock>()
const maxClocks = 1_000
const maxOffsets = 2_000
/** Zones change their offset at full quarters of an hour, so one look-up is valid for the whole quarter. */
const quarterMs = 900_000

function clockOf(zone: string): Clock {
  const known = clocks.get(zone)
  if (known) return known
  if (clocks.size >= maxClocks) clocks.clear()
  const clock = { format: createFormat(zone), offsets: new Map<number, number>() }
  clocks.set(zone, clock)
  return clock
}

const createFormat = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })

/** True if the runtime knows a zone of this name. */
export function isZone(zone: string): boolean {
  try {
    clockOf(zone)
    return true
  } catch {
    return false
  }
}

/** Returns the offset of a zone's local time from UTC, in milliseconds. */
function offsetAt(zone: string, nowMs: number): number {
  const { format, offsets } = clockOf(zone)
  const quarter = Math.floor(nowMs / quarterMs)
  const known = offsets.get(quarter)
  if (known !== undefined) return known
  const start = quarter * quarterMs
  const parts = new Map(format.formatToParts(start).map((part) => [part.type, Number(part.value)]))
  const read = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0
  const wall = Date.UTC(read('year'), read('month') - 1, read('day'), read('hour'), read('minute'), read('second'))
  if (offsets.size >= maxOffsets) offsets.clear()
  offsets.set(quarter, wall - start)
  return wall - start
}
