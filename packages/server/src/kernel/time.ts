/** Durations in milliseconds. */
export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** Parses the date in a certificate's text; undefined for an invalid date or time ("Bad time value"). */
export function existing(text: string): Date | undefined {
  const date = new Date(text)
  return Number.isFinite(date.getTime()) ? date : undefined
}
