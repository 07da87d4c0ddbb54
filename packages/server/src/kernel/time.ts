/** Durations in milliseconds. */
export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** The date, unless there is no such day or hour: the platform reads that from certificates as an invalid one. */
export const existing = (date: Date): Date | undefined => (Number.isFinite(date.getTime()) ? date : undefined)
