import type { Server, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { second } from '../kernel/time.ts'

/** What still runs after this long is cut. */
const finishWithinMs = 5 * second

/**
 * The end of serving without a failed request: from `begin` on every answer closes its connection, so that a balancer's
 * next request goes to another replica; whoever waits is answered like everyone else.
 */
export function createDraining() {
  const open = new Set<ServerResponse>()
  let draining = false
  // One function for all: every request passes here.
  function forget(this: ServerResponse): void {
    open.delete(this)
  }
  return {
    /** Sees every request before anyone else. */
    watch: (response: ServerResponse): void => {
      if (draining) response.shouldKeepAlive = false
      open.add(response)
      response.on('close', forget)
    },
    begin: (): void => {
      draining = true
      for (const response of open) response.shouldKeepAlive = false
    },
    /** No new connection; requests that run are finished, within bounds. */
    finish: async (http: FastifyInstance): Promise<void> => {
      const server: Server = http.server
      const timer = setTimeout(() => server.closeAllConnections(), finishWithinMs)
      try {
        await http.close()
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
export type Draining = ReturnType<typeof createDraining>
