import type { TestContext } from 'node:test'
import { type Dispatcher, getGlobalDispatcher, setGlobalDispatcher } from 'undici'

const usual = getGlobalDispatcher()

/** Sends all requests without a dispatcher of their own through this one until the test ends. */
export function reachedBy(t: TestContext, dispatcher: Dispatcher): void {
  setGlobalDispatcher(dispatcher)
  t.after(() => setGlobalDispatcher(usual))
}
