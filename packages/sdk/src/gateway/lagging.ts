import { VerificationError } from '../errors.ts'

/**
 * Number of lagging responses in a row that are tolerated. With a second between them, that is longer than the largest
 * lag of a replica.
 */
const most = 4

/**
 * A replica may lag behind the one that answered before, so its signed data is older than the held one. It is refused
 * like any older data, but reported as an error only if it persists.
 */
export function createLagPatience() {
  let seen = 0
  return {
    /** True if this error is such a response, and the request should be repeated soon. */
    bears: (e: unknown): boolean => e instanceof VerificationError && e.code === 'rollback' && ++seen <= most,
    reset: (): void => {
      seen = 0
    },
    /** True if the next request must not wait. */
    get isAwaited(): boolean {
      return seen > 0
    },
  }
}
