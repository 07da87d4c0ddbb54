/** Interval between updates of shown times. */
const everyMs = 10_000

const listeners = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

function tick() {
  now = Date.now()
  for (const listener of listeners) listener()
}

/** Runs the timer while there are listeners and the page is visible. */
function setTimer() {
  const isNeeded = listeners.size > 0 && !document.hidden
  if (isNeeded && timer === undefined) {
    timer = setInterval(tick, everyMs)
    tick()
  }
  if (!isNeeded && timer !== undefined) {
    clearInterval(timer)
    timer = undefined
  }
}

/** Subscribes to the clock that all shown times share. For `useSyncExternalStore`. */
export function subscribeToClock(listener: () => void): () => void {
  if (listeners.size === 0) document.addEventListener('visibilitychange', setTimer)
  listeners.add(listener)
  setTimer()
  return () => {
    listeners.delete(listener)
    setTimer()
    if (listeners.size === 0) document.removeEventListener('visibilitychange', setTimer)
  }
}

/** Returns the time of the last tick, in ms. */
export const clockNow = (): number => now
