import type { RequestListener, Server, ServerResponse } from 'node:http'
import { second } from '../../kernel/time.ts'

/** A listening server, with the function that closes it. */
export type ListeningServer = { server: Server; close: () => Promise<unknown> }
/** Time in ms after which remaining connections are cut. */
const finishWithinMs = 5 * second

/**
 * Ends serving without failed requests. From `begin` on, every response closes its connection, so that a load
 * balancer's next request goes to another replica. Waiting requests are answered too.
 */
export function createDraining() {
  const open = new Set<ServerResponse>()
  let draining = false
  function forget(this: ServerResponse): void {
    open.delete(this)
  }
  return {
    /**
     * Wraps the listener of all requests. A response in the same turn of the loop, the usual case, is never registered.
     */
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
    /** Accepts no new connection, and waits a limited time for running requests. */
    finish: async ({ server, close }: ListeningServer): Promise<void> => {
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
