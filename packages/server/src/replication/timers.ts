const tickMs = 480
/** A wait of at least this long may end up to a tick early, or a sixtieth of its length. */
const longMs = 20 * tickMs
const sixtieth = 60
/** Approximate number of waits that end together: enough to share the wake-up, too few to block the loop. */
const together = 10
/** A tick closer than this, in ms, counts as the present one. */
const nearMs = 20

/**
 * Returns the milliseconds until the next tick. Periodic work runs at common ticks, two per second, so that an idle
 * process is woken once for all of it.
 */
export function untilTick(now = performance.now()): number {
  const left = Math.ceil(tickMs - (now % tickMs))
  return left > nearMs ? left : left + tickMs
}

/**
 * One timer for all waits. No call is late by more than the delay of the event loop. Long waits end slightly early, at
 * a tick, together with others.
 */
export function createTimers() {
  let waiting = 0
  const due = new Map<number, Set<() => void>>()
  let timer: NodeJS.Timeout | undefined
  let nextAt = Number.POSITIVE_INFINITY

  function arm(at: number): void {
    clearTimeout(timer)
    nextAt = at
    if (at < Number.POSITIVE_INFINITY) timer = setTimeout(ring, Math.max(1, Math.ceil(at - performance.now())))
  }
  function ring(): void {
    const now = performance.now()
    for (const [at, calls] of due) {
      if (at > now) continue
      due.delete(at)
      waiting -= calls.size
      for (const call of calls) call()
    }
    arm(Math.min(...due.keys()))
  }

  return {
    /** Calls after `ms`, unless the returned function is called before. */
    set: (ms: number, call: () => void): (() => void) => {
      const end = performance.now() + ms
      const ticks = Math.max(1, Math.floor(ms / tickMs / Math.max(sixtieth, waiting / together)))
      const at = ms < longMs ? Math.ceil(end) : end - (end % (ticks * tickMs))
      const calls = due.get(at) ?? new Set()
      due.set(at, calls.add(call))
      waiting++
      if (at < nextAt) arm(at)
      return () => {
        if (due.get(at) !== calls || !calls.delete(call)) return
        waiting--
        if (calls.size > 0) return
        due.delete(at)
        if (due.size === 0) arm(Number.POSITIVE_INFINITY)
      }
    },
  }
}
