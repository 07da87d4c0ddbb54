import type { Random } from './backoff.ts'
import { ApiError, ConnectionError } from './errors.ts'

/** Seconds: a wait that ends this late was cut on the way. A request that fails sooner is one that fails. */
const longEnough = 15
const shortest = 12
/** Seconds until a longer wait is tried again: what cut the last one may be gone. */
const remembered = 3600

type Waited = {
  /** Seconds that the server was asked to hold the answer. */
  held: number
  /** Seconds that went by. */
  took: number
}

/**
 * How long an answer may be held, where a proxy or a NAT on the way ends waits that are longer: with 502, 503 or 504
 * (nginx after 60 seconds, RFC 9110 §15.6), or by a connection that breaks.
 */
export function createWaitLimit() {
  let limit = Number.POSITIVE_INFINITY
  let until = 0
  const seconds = () => performance.now() / 1000
  return {
    /** The wait that was wanted, or one that is safely shorter than the last that was cut. */
    bound: (wanted: number, random: Random): number => {
      if (seconds() > until) limit = Number.POSITIVE_INFINITY
      return wanted <= limit ? wanted : limit * (0.8 + 0.2 * random())
    },
    /** Whether a failure is a wait that was cut, which says nothing of the server; the next ones are shorter then. */
    cuts: (e: unknown, { held, took }: Waited): boolean => {
      const isOfProxy = e instanceof ApiError && e.status >= 502 && e.status <= 504
      if (held === 0 || took < longEnough || !(isOfProxy || e instanceof ConnectionError)) return false
      limit = Math.max(shortest, took * 0.8)
      until = seconds() + remembered
      return true
    },
  }
}
