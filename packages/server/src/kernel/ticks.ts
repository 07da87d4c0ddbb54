const tickMs = 480
/** A wait that is at least this long may end up to a tick early, or a sixtieth of it. */
const longMs = 20 * tickMs
const sixtieth = 60
/** About so many waits end together: enough to share the waking, too few to hold up anybody. */
const together = 10
/** A tick that is as near as this is as good as the present one. */
const nearMs = 20

/**
 * Milliseconds until the next tick. What a process does now and then it does at its ticks, two in a second: one that
 * has nothing else to do is woken once for all of it.
 */
export function untilTick(now = performance.now()): number {
  const left = Math.ceil(tickMs - (now % tickMs))
  return left > nearMs ? left : left + tickMs
}

/**
 * One timer for all who wait. Nobody is called late by more than the loop is; who waits long is called a little early,
 * at a tick, with others whose time ends by then.
 */
export function createAlarms() {
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
    /** Calls after so long, unless what is returned is called first. */
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
