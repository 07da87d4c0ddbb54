/** Durations in milliseconds. */
export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** The date that a certificate's text says; undefined where there is no such day or hour ("Bad time value"). */
export function existing(text: string): Date | undefined {
  const date = new Date(text)
  return Number.isFinite(date.getTime()) ? date : undefined
}
