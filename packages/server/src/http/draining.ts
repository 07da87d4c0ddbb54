import type { RequestListener, Server, ServerResponse } from 'node:http'
import { second } from '../kernel/time.ts'

/** What listens, and how it is told to end. */
export type Listening = { server: Server; close: () => Promise<unknown> }
/** What still runs after this long is cut. */
const finishWithinMs = 5 * second

/**
 * The end of serving without a failed request: from `begin` on every answer closes its connection, so that a balancer's
 * next request goes to another replica; whoever waits is answered like everyone else.
 */
export function createDraining() {
  const open = new Set<ServerResponse>()
  let draining = false
  function forget(this: ServerResponse): void {
    open.delete(this)
  }
  return {
    /** Around all that answers. Who has an answer in the same turn was never open, which is most of who comes. */
    around:
      (answer: RequestListener): RequestListener =>
      (request, response) => {
        if (draining) response.shouldKeepAlive = false
        answer(request, response)
        if (response.writableEnded) return
        open.add(response)
        response.on('close', forget)
      },
    begin: (): void => {
      draining = true
      for (const response of open) response.shouldKeepAlive = false
    },
    /** No new connection; requests that run are finished, within bounds. */
    finish: async ({ server, close }: Listening): Promise<void> => {
      const timer = setTimeout(() => server.closeAllConnections(), finishWithinMs)
      try {
        await close()
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
export type Draining = ReturnType<typeof createDraining>
