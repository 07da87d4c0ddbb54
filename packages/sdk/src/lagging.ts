import { VerificationError } from './errors.ts'

/** Answers in a row that may be behind; with a second between them that is more than a replica may ever be. */
const most = 4

/**
 * One replica may be a moment behind the one that answered before, and what it signs is older than what is held. It is
 * refused like every older answer, and is nothing to speak of until it stays so.
 */
export function createLagPatience() {
  let seen = 0
  return {
    /** Whether this failure is such an answer, and to be asked again after a moment. */
    bears: (e: unknown): boolean => e instanceof VerificationError && e.code === 'rollback' && ++seen <= most,
    reset: (): void => {
      seen = 0
    },
    /** Whether the next answer is not to be held. */
    get isAwaited(): boolean {
      return seen > 0
    },
  }
}
