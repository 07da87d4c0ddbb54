const tickMs = 480
/** A wait that is at least this long may end up to a tick early. */
const longMs = 20 * tickMs
/** A tick that is as near as this is as good as the present one. */
const nearMs = 20

/**
 * Milliseconds until the next tick. What a process does now and then it does at its ticks, two in a second: one that has
 * nothing else to do is woken once for all of it.
 */
export function untilTick(now = performance.now()): number {
  const left = Math.ceil(tickMs - (now % tickMs))
  return left > nearMs ? left : left + tickMs
}

/**
 * One timer for all who wait. Nobody is called late by more than the loop is; who waits long is called at a tick, early by
 * less than that, with all the others whose time ends by then.
 */
export function createAlarms() {
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
      for (const call of calls) call()
    }
    arm(Math.min(...due.keys()))
  }

  return {
    /** Calls after so long, unless what is returned is called first. */
    set: (ms: number, call: () => void): (() => void) => {
      const end = performance.now() + ms
      const at = ms < longMs ? Math.ceil(end) : end - (end % tickMs)
      const calls = due.get(at) ?? new Set()
      due.set(at, calls.add(call))
      if (at < nextAt) arm(at)
      return () => {
        calls.delete(call)
        if (calls.size > 0 || due.get(at) !== calls) return
        due.delete(at)
        if (due.size === 0) arm(Number.POSITIVE_INFINITY)
      }
    },
  }
}
export type Alarms = ReturnType<typeof createAlarms>
