import type { PolicyTimeWindow } from '@holdfast/contract/policy-document'

/** A window on the wall clock of a zone: `from` inclusive, `to` exclusive, in minutes of the day. */
export type TimeWindow = {
  readonly zone: string
  readonly from: number
  readonly to: number
  /** One bit a day, Monday is bit 0: days on which the window starts. */
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

/** Whether one of the windows is open at an instant. */
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
 * The first instant after `nowMs` at which `isOpen` gives the other answer. When that is more than eight days off
 * (windows that are never shut), an instant that far ahead: then it is time to ask again.
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
 * The next instant at which the window could open or shut: one of its edges on the wall clock, or a change of the
 * clock.
 */
function nextEdge({ zone, from, to }: TimeWindow, nowMs: number): number {
  const offset = offsetAt(zone, nowMs)
  const local = nowMs + offset
  const midnight = Math.floor(local / dayMs) * dayMs
  const edges = [from, to, from + 1_440, to + 1_440].map((minute) => midnight + minute * minuteMs)
  const edge = Math.min(...edges.filter((instant) => instant > local)) - offset
  return offsetAt(zone, edge) === offset ? edge : clockChange(zone, nowMs, edge)
}

/** When the offset that holds at `before` ends; it no longer holds at `after`. */
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
/** Zones change their offset at full quarters of an hour, so one question answers for the whole quarter. */
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

/** Whether the runtime knows a zone by this name. */
export function isZone(zone: string): boolean {
  try {
    clockOf(zone)
    return true
  } catch {
    return false
  }
}

/** What the wall clock of a zone is ahead of UTC, in milliseconds. */
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
