import { get } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'

const checkEveryMs = 200
const answerWithinMs = 1_000

/** A replica that does not answer keeps its last state until this many checks in a row have failed. */
const silentAtMost = 3

/**
 * Spreads TCP connections over the replicas that report ready; each is checked every 200 ms. A replica that is not
 * ready gets no new connection and keeps its open ones. If a replica refuses a connection, the next one is tried.
 */
export async function startBalancer(ports: readonly number[]) {
  const ready = new Map(ports.map((port) => [port, false]))
  const silent = new Map<number, number>()
  const open = new Set<Socket>()
  let turn = 0
  let isClosed = false

  const check = async (port: number) => {
    const says = await readiness(port)
    const unanswered = says === undefined ? (silent.get(port) ?? 0) + 1 : 0
    silent.set(port, unanswered)
    if (!isClosed && (says !== undefined || unanswered >= silentAtMost)) ready.set(port, says ?? false)
  }
  const timers = ports.map((port) => setInterval(() => void check(port), checkEveryMs))
  await Promise.all(ports.map(check))

  function lead(client: Socket, tried: ReadonlySet<number>): void {
    const able = ports.filter((port) => ready.get(port) && !tried.has(port))
    const port = able[turn++ % Math.max(1, able.length)]
    if (port === undefined) return void client.destroy()
    const server = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    server.once('error', () => {
      if (server.connecting || server.bytesWritten === 0) lead(client, new Set([...tried, port]))
      else client.destroy()
    })
    server.once('connect', () => {
      server.removeAllListeners('error')
      const end = () => {
        client.destroy()
        server.destroy()
      }
      server.on('error', end).once('close', end)
      client.once('close', end)
      client.pipe(server)
      server.pipe(client)
    })
  }

  const listener = createServer({ noDelay: true, pauseOnConnect: true, allowHalfOpen: true }, (client) => {
    open.add(client)
    client.on('error', () => client.destroy()).once('close', () => open.delete(client))
    lead(client, new Set())
  })
  await new Promise<void>((resolve) => listener.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, resolve))
  const address = listener.address()
  if (address === null || typeof address === 'string') throw new Error('the balancer has no port')

  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
    isReady: (port: number): boolean => ready.get(port) ?? false,
    close: async () => {
      isClosed = true
      for (const timer of timers) clearInterval(timer)
      const closed = new Promise((resolve) => listener.close(resolve))
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}

/** True if the replica on this port reports that it is ready. */
export const asks = async (port: number, withinMs = answerWithinMs): Promise<boolean> =>
  (await readiness(port, withinMs)) ?? false

/** The replica's readiness; undefined without an answer in time. A replica that refuses the connection is not ready. */
export const readiness = (port: number, withinMs = answerWithinMs): Promise<boolean | undefined> =>
  new Promise((resolve) => {
    const request = get({ port, host: '127.0.0.1', path: '/readyz', agent: false, timeout: withinMs }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode === 200))
    })
    request.once('timeout', () => request.destroy())
    request.once('error', (e: NodeJS.ErrnoException) => resolve(e.code === 'ECONNREFUSED' ? false : undefined))
    request.once('close', () => resolve(undefined))
  })
