/** `at` in days, from any origin. */
type Point = { at: number; value: number }

/**
 * Returns the slope of the best line through the points (least squares), per day. Undefined for fewer than two
 * different times.
 */
export function slopeOf(points: readonly Point[]): number | undefined {
  const n = points.length
  const mean = (of: (p: Point) => number) => points.reduce((sum, p) => sum + of(p), 0) / n
  const [at, value] = [mean((p) => p.at), mean((p) => p.value)]
  const spread = points.reduce((sum, p) => sum + (p.at - at) ** 2, 0)
  if (n < 2 || spread === 0) return undefined
  return points.reduce((sum, p) => sum + (p.at - at) * (p.value - value), 0) / spread
}

const furthestDays = 366

/**
 * Returns the days until a value that grows by `perDay` reaches its limit: 0 if it has, undefined if it takes more than
 * a year.
 */
export function daysUntilLimit(used: number, limit: number, perDay: number): number | undefined {
  if (used >= limit) return 0
  const days = (limit - used) / perDay
  return perDay > 0 && days <= furthestDays ? days : undefined
}
