import type { StreamDeps } from './deps.ts'
import { createHub } from './hub.ts'
import { streamHandlers } from './stream.handlers.ts'

/** Notifies clients of changes in a tenant as they happen. The console then refetches only the lists concerned. */
export function createStream(deps: StreamDeps) {
  const hub = createHub(deps)
  return { handlers: streamHandlers(hub), letGo: hub.stop, count: hub.count }
}
