import { type Runtime, Session } from 'node:inspector'
import { setTimeout as sleep } from 'node:timers/promises'

/** Counts the resources that keep a process alive, by kind: sockets, servers, timers, children. */
function held(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** The delay and the callback of each timer that keeps the process alive. */
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
 * Call it before a test makes anything; call the result at the end. It rejects, naming the kinds, if the test leaves
 * connections, servers or timers open.
 */
export function watchLeaks(): () => Promise<void> {
  const before = held()
  const left = () => [...held()].filter(([kind, count]) => count > (before.get(kind) ?? 0)).map(([kind]) => kind)
  return async () => {
    const until = performance.now() + 20_000
    // A closed resource disappears after a turn or two of the event loop. The sleep keeps the loop alive: otherwise the
    // test runner sets a timer that remains.
    while (left().length > 0 && performance.now() < until) await sleep(20)
    if (left().length > 0) throw new Error(`the test leaves behind: ${left().join(', ')}\n${timers().join('\n')}`)
  }
}
