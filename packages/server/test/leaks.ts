import { setTimeout as sleep } from 'node:timers/promises'

/** Kinds of what keeps a process alive, counted: sockets, servers, timers, children. */
function held(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** Where timers were set that run for long, so that one that is left behind can be found. */
const longTimers = new Map<NodeJS.Timeout, Error>()
const isOver = (timer: NodeJS.Timeout) => (timer as { _destroyed?: boolean })._destroyed === true
const { setTimeout: setAny } = globalThis
globalThis.setTimeout = Object.assign((...given: Parameters<typeof setAny>) => {
  const timer = setAny(...given)
  if ((given[1] ?? 0) >= 3000) longTimers.set(timer, new Error('set here'))
  if (longTimers.size > 1000) for (const old of [...longTimers.keys()].filter(isOver)) longTimers.delete(old)
  return timer
}, setAny) as typeof setAny
function whereSet(): string {
  const running = [...longTimers].filter(([timer]) => timer.hasRef() && !isOver(timer))
  return running.map(([, { stack = '' }]) => stack.split('\n').slice(2, 5).join('\n')).join('\n\n')
}

/**
 * Call before a test makes anything and again at its end: rejects, by kind, when the test leaves more connections,
 * servers or timers behind than it found.
 */
export function watchLeaks(): () => Promise<void> {
  const before = held()
  const left = () => [...held()].filter(([kind, count]) => count > (before.get(kind) ?? 0)).map(([kind]) => kind)
  return async () => {
    const until = performance.now() + 5000
    // What was closed a moment ago takes a turn or two of the loop to be gone.
    while (left().length > 0 && performance.now() < until) await sleep(20, undefined, { ref: false })
    if (left().length > 0) throw new Error(`the test leaves behind: ${left().join(', ')}\n${whereSet()}`)
  }
}
