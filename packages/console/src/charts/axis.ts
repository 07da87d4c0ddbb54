import type { TimeZone } from '../ui/format-time.ts'

/**
 * Chooses the end of a scale that starts at 0, and the labels along it. The largest label comes first, as on the top.
 *
 * @param highest - the highest value to draw
 * @param parts - the most parts into which the labels divide the scale
 * @example niceScale(913) // { max: 1000, ticks: [1000, 750, 500, 250, 0] }
 */
export function niceScale(highest: number, parts = 4): { max: number; ticks: number[] } {
  if (!(highest > 0) || !Number.isFinite(highest)) return { max: 1, ticks: [1, 0] }
  const power = 10 ** Math.floor(Math.log10(highest / parts))
  // Counts are whole numbers: labels from 1 on are whole.
  const steps = [1, 2, 2.5, 5, 10].map((n) => n * power).filter((n) => highest < 1 || Number.isInteger(n))
  const step = steps.find((n) => n * parts >= highest * (1 - 1e-9)) ?? 10 * power
  const count = Math.ceil(highest / step - 1e-9)
  const ticks = Array.from({ length: count + 1 }, (_, i) => clean((count - i) * step))
  return { max: clean(count * step), ticks }
}
/** Removes rounding errors: 0.30000000000000004 becomes 0.3. */
const clean = (n: number) => Number(n.toPrecision(12))

const dayMs = 86_400_000
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (n: number) => String(n).padStart(2, '0')

/**
 * Formats a time on an axis: the hour on a scale of up to 36 hours, else the day.
 *
 * @param spanMs - length of the scale
 * @example formatAxisTime('2026-11-27T14:00:00Z', 3_600_000, 'utc') // '14:00'
 */
export function formatAxisTime(at: string, spanMs: number, zone: TimeZone): string {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return at
  const shown = zone === 'utc' ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  if (spanMs <= 1.5 * dayMs) return `${two(shown.getUTCHours())}:${two(shown.getUTCMinutes())}`
  return `${shown.getUTCDate()} ${months[shown.getUTCMonth()]}`
}

/** Returns the labels of an axis, spread evenly over the times. */
export function timeLabels(times: readonly string[], zone: TimeZone, count = 5): string[] {
  const last = times.length - 1
  if (last < 0) return []
  const span = Date.parse(times[last]!) - Date.parse(times[0]!)
  const places = last < count ? times.map((_, i) => i) : evenly(last, count)
  return places.map((place) => formatAxisTime(times[place]!, span, zone))
}
const evenly = (last: number, count: number) =>
  Array.from({ length: count }, (_, i) => Math.round((i * last) / (count - 1)))

/** Returns runs of values without a gap, each with the index of its first value. */
export function runsOf(data: readonly (number | null)[]): { from: number; values: number[] }[] {
  const runs: { from: number; values: number[] }[] = []
  for (const [place, value] of data.entries()) {
    if (value === null) continue
    if (place > 0 && data[place - 1] !== null) runs.at(-1)?.values.push(value)
    else runs.push({ from: place, values: [value] })
  }
  return runs
}

/**
 * Describes a series in words.
 *
 * @example describeSeries('Sessions', [190, 913, 873], String) // 'Sessions: highest 913, lowest 190, now 873'
 */
export function describeSeries(name: string, data: readonly (number | null)[], format: (n: number) => string): string {
  const known = data.filter((value) => value !== null)
  if (known.length === 0) return `${name}: no values`
  const now = data.at(-1)
  const last = now === null || now === undefined ? 'now unknown' : `now ${format(now)}`
  return `${name}: highest ${format(Math.max(...known))}, lowest ${format(Math.min(...known))}, ${last}`
}

/** Returns the step of the heat scale, 0 to 4: 0 is no value, 4 is more than three quarters of the highest. */
export const heatStep = (value: number, most: number): 0 | 1 | 2 | 3 | 4 =>
  value <= 0 || most <= 0 ? 0 : (Math.min(Math.ceil((value / most) * 4), 4) as 1 | 2 | 3 | 4)

/** Rounds to one decimal, which is enough on a canvas of 1000 by 100. */
export const round1 = (n: number): number => Math.round(n * 10) / 10
