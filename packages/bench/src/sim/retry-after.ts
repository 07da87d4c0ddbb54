import { ApiError } from '@holdfast/sdk'

/** Seconds after which a server that is in trouble for the moment asks to be asked again; undefined: it said no such thing. */
export const retryAfter = (error: unknown): number | undefined =>
  error instanceof ApiError && (error.status >= 500 || error.status === 429) ? error.retryAfterSeconds : undefined
