import { type Runtime, Session } from 'node:inspector'
import { setTimeout as sleep } from 'node:timers/promises'

/** Kinds of what keeps a process alive, counted: sockets, servers, timers, children. */
function held(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** Of each timer that keeps the process alive: after how long it rings, and what it calls. */
function timers(): string[] {
  const session = new Session()
  session.connect()
  let answer: unknown
  // The inspector of one's own thread answers before `post` returns.
  const ask = <T>(method: string, parameters: object): T => {
    session.post(method, parameters, (_, result) => {
      answer = result
    })
    return answer as T
  }
  const expression = '((timer) => (clearTimeout(timer), Object.getPrototypeOf(timer)))(setTimeout(() => {}))'
  const prototype = ask<Runtime.EvaluateReturnType>('Runtime.evaluate', { expression }).result.objectId
  const all = ask<Runtime.QueryObjectsReturnType>('Runtime.queryObjects', { prototypeObjectId: prototype }).objects
  const { result } = ask<Runtime.CallFunctionOnReturnType>('Runtime.callFunctionOn', {
    objectId: all.objectId,
    returnByValue: true,
    functionDeclaration: `function () {
      const running = this.filter((timer) => timer.hasRef() && !timer._destroyed)
      return running.map(({ _idleTimeout, _onTimeout }) => _idleTimeout + ' ms: ' + _onTimeout)
    }`,
  })
  session.disconnect()
  return result.value
}

/**
 * Call before a test makes anything and again at its end: rejects, by kind, when the test leaves more connections,
 * servers or timers behind than it found.
 */
export function watchLeaks(): () => Promise<void> {
  const before = held()
  const left = () => [...held()].filter(([kind, count]) => count > (before.get(kind) ?? 0)).map(([kind]) => kind)
  return async () => {
    const until = performance.now() + 20_000
    // What was closed a moment ago takes a turn or two of the loop to be gone. The sleep holds the loop: where nothing
    // does, the test runner sets a timer that stays.
    while (left().length > 0 && performance.now() < until) await sleep(20)
    if (left().length > 0) throw new Error(`the test leaves behind: ${left().join(', ')}\n${timers().join('\n')}`)
  }
}
