import { ApiError, ConnectionError } from '@holdfast/sdk'

/**
 * Seconds to wait before a retry, if the server is temporarily unavailable or did not answer. Undefined if a retry
 * makes no sense. A request that a retry completes has lost nothing; a lost one shows in the state at the end.
 */
export const retryAfter = (error: unknown): number | undefined => {
  if (error instanceof ConnectionError) return 1
  return error instanceof ApiError && (error.status >= 500 || error.status === 429)
    ? error.retryAfterSeconds
    : undefined
}

/** The reason for a retry: the server asked for it, or did not answer. */
export const turnOf = (error: unknown): 'busy' | 'unanswered' =>
  error instanceof ConnectionError ? 'unanswered' : 'busy'
