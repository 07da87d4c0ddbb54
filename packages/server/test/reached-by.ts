import type { TestContext } from 'node:test'
import { type Dispatcher, getGlobalDispatcher, setGlobalDispatcher } from 'undici'

const usual = getGlobalDispatcher()

/** Until the test ends everything in this process that names no dispatcher of its own goes by this one. */
export function reachedBy(t: TestContext, dispatcher: Dispatcher): void {
  setGlobalDispatcher(dispatcher)
  t.after(() => setGlobalDispatcher(usual))
}
