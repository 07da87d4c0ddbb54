/** A point in time given by the caller: a Date, or milliseconds since the epoch. */
export type Instant = Date | number

/** Returns seconds since the epoch, with fraction (RFC 7519 NumericDate). */
export function numericDate(instant: Instant): number {
  const ms = typeof instant === 'number' ? instant : instant.getTime()
  if (!Number.isFinite(ms)) throw new RangeError('the value is not a valid time')
  return ms / 1000
}
