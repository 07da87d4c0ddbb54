/**
 * How long an exact measurement is preferred to newer, less exact ones: clocks drift by less than a millisecond in that
 * time.
 */
const preferExactMs = 10_000
/**
 * A step back that is larger than this is taken as it is; a smaller one is waited out, so that time does not run
 * backwards.
 */
const waitOutMs = 5000

/**
 * The database's time, which all replicas share: measured with every heartbeat against this process's monotonic clock.
 * What the machine's wall clock says plays no part.
 */
export function createClock(local: () => number = () => performance.now()) {
  let offset: number | undefined
  let error = Number.POSITIVE_INFINITY
  let measuredAt = Number.NEGATIVE_INFINITY
  let newest = Number.NEGATIVE_INFINITY

  return {
    /** The database said `databaseMs` somewhere between these two local moments. */
    measured: (databaseMs: number, sentAt: number, receivedAt: number): void => {
      const half = (receivedAt - sentAt) / 2
      const found = databaseMs - (sentAt + half)
      const isStep = offset !== undefined && Math.abs(found - offset) > half + error
      if (half > error && !isStep && receivedAt - measuredAt < preferExactMs) return
      if (offset !== undefined && offset - found > waitOutMs) newest = Number.NEGATIVE_INFINITY
      offset = found
      error = half
      measuredAt = receivedAt
    },
    /** Never earlier than what it said before. */
    now: (): Date => {
      if (offset === undefined) throw new Error('the time of the database is not known yet')
      newest = Math.max(newest, local() + offset)
      return new Date(newest)
    },
  }
}
export type Clock = ReturnType<typeof createClock>
