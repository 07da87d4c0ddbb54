import type { StreamDeps } from './deps.ts'
import { createHub } from './hub.ts'
import { streamHandlers } from './stream.handlers.ts'

/** What changes in a tenant, as it happens, to whoever watches: the console refetches that and nothing else. */
export function createStream(deps: StreamDeps) {
  const hub = createHub(deps)
  return { handlers: streamHandlers(hub), letGo: hub.stop, count: hub.count }
}
