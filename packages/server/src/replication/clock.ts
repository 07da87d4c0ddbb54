/**
 * Time in ms for which an exact measurement is preferred to newer, less exact ones. Clocks drift by less than a
 * millisecond in that time.
 */
const preferExactMs = 10_000
/**
 * Steps back above this (ms) are applied at once. During smaller ones the clock stands still, so that time does not run
 * backwards.
 */
const waitOutMs = 5000

/**
 * The database's time, shared by all replicas. Each heartbeat measures it against this process's monotonic clock. The
 * machine's wall clock is not used.
 */
export function createClock(local: () => number = () => performance.now()) {
  let offset: number | undefined
  let error = Number.POSITIVE_INFINITY
  let measuredAt = Number.NEGATIVE_INFINITY
  let newest = Number.NEGATIVE_INFINITY

  return {
    /** Stores a measurement: the database returned `databaseMs` between these two local times. */
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
    /** Returns the time, never earlier than a time returned before. */
    now: (): Date => {
      if (offset === undefined) throw new Error('the time of the database is not known yet')
      newest = Math.max(newest, local() + offset)
      return new Date(newest)
    },
  }
}
export type Clock = ReturnType<typeof createClock>
