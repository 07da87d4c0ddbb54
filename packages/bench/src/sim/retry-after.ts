import { ApiError, ConnectionError } from '@holdfast/sdk'

/**
 * Seconds after which to ask again: as a server says that is in trouble for the moment, or one where no answer came.
 * Who then is answered has lost nothing; who is not holds something else in the end than it must. Undefined: there is
 * nothing to wait for.
 */
export const retryAfter = (error: unknown): number | undefined => {
  if (error instanceof ConnectionError) return 1
  return error instanceof ApiError && (error.status >= 500 || error.status === 429)
    ? error.retryAfterSeconds
    : undefined
}

/** How a request went that is sent again: told to come back, or not answered at all. */
export const turnOf = (error: unknown): 'busy' | 'unanswered' =>
  error instanceof ConnectionError ? 'unanswered' : 'busy'
