/** `at` in days, whatever their zero. */
type Point = { at: number; value: number }

/** The slope of the line that fits the points best (least squares), per day; undefined for fewer than two moments. */
export function slopeOf(points: readonly Point[]): number | undefined {
  const n = points.length
  const mean = (of: (p: Point) => number) => points.reduce((sum, p) => sum + of(p), 0) / n
  const [at, value] = [mean((p) => p.at), mean((p) => p.value)]
  const spread = points.reduce((sum, p) => sum + (p.at - at) ** 2, 0)
  if (n < 2 || spread === 0) return undefined
  return points.reduce((sum, p) => sum + (p.at - at) * (p.value - value), 0) / spread
}

const furthestDays = 366

/** In how many days what grows by so much a day reaches its limit: 0 where it has; undefined where it won't in a year. */
export function daysUntil(used: number, limit: number, perDay: number): number | undefined {
  if (used >= limit) return 0
  const days = (limit - used) / perDay
  return perDay > 0 && days <= furthestDays ? days : undefined
}
