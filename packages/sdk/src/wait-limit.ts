import type { Random } from './backoff.ts'
import { ApiError, ConnectionError } from './errors.ts'

/** Seconds after which a failed wait counts as cut by a proxy. An earlier failure is a normal one. */
const longEnough = 15
const shortest = 12
/** Seconds until a longer wait is tried again, since the proxy may be gone. */
const remembered = 3600

type Waited = {
  /** Seconds that the server was asked to hold the response. */
  held: number
  /** Duration of the request in seconds. */
  took: number
}

/**
 * Limits long polls if a proxy or a NAT ends longer waits: with 502, 503 or 504 (nginx after 60 seconds, RFC 9110
 * §15.6), or by closing the connection.
 */
export function createWaitLimit() {
  let limit = Number.POSITIVE_INFINITY
  let until = 0
  const seconds = () => performance.now() / 1000
  return {
    /** Returns the wanted wait, or one safely shorter than the last cut one. */
    bound: (wanted: number, random: Random): number => {
      if (seconds() > until) limit = Number.POSITIVE_INFINITY
      return wanted <= limit ? wanted : limit * (0.8 + 0.2 * random())
    },
    /** True if an error is a cut wait, which says nothing about the server. The next waits are shorter then. */
    cuts: (e: unknown, { held, took }: Waited): boolean => {
      const isOfProxy = e instanceof ApiError && e.status >= 502 && e.status <= 504
      if (held === 0 || took < longEnough || !(isOfProxy || e instanceof ConnectionError)) return false
      limit = Math.max(shortest, took * 0.8)
      until = seconds() + remembered
      return true
    },
  }
}
