import type { StreamDeps } from './deps.ts'
import { createHub } from './hub.ts'
import { streamHandlers } from './stream.handlers.ts'

/** Tells clients of the changes in a tenant as they happen: the console then refetches those lists and no others. */
export function createStream(deps: StreamDeps) {
  const hub = createHub(deps)
  return { handlers: streamHandlers(hub), letGo: hub.stop, count: hub.count }
}
