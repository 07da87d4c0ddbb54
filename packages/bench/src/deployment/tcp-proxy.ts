import { connect, createServer, type Socket } from 'node:net'

type Pair = { client: Socket; server: Socket }
export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>

/**
 * A proxy between a program and its database. It can reset every connection, and lead new connections elsewhere. It can
 * also hold all traffic silently, as a network that drops packets does; the held data arrives when the hold ends.
 */
export async function startTcpProxy(targetPort: number) {
  let target = targetPort
  let isHeld = false
  const pairs = new Set<Pair>()
  const waiting: (() => void)[] = []
  let bytesOfEnded = 0

  function join(client: Socket): void {
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true })
    const pair = { client, server }
    pairs.add(pair)
    const end = () => {
      if (pairs.delete(pair)) bytesOfEnded += server.bytesRead
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) socket.on('error', end).on('close', end)
    client.pipe(server)
    server.pipe(client)
    if (isHeld) hold(pair)
  }
  const hold = ({ client, server }: Pair) => {
    client.unpipe(server)
    server.unpipe(client)
    client.pause()
    server.pause()
  }
  const release = ({ client, server }: Pair) => {
    client.pipe(server)
    server.pipe(client)
  }

  const listener = createServer({ noDelay: true, pauseOnConnect: true }, (client) => {
    client.on('error', () => client.destroy())
    const begin = () => {
      if (!client.destroyed) join(client)
    }
    if (isHeld) waiting.push(begin)
    else begin()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')

  /** Resets every connection; returns their number. */
  const cut = (): number => {
    const open = [...pairs]
    for (const { client, server } of open) {
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
    return open.length
  }

  return {
    port: address.port,
    cut,
    hold: () => {
      isHeld = true
      for (const pair of pairs) hold(pair)
    },
    release: () => {
      if (!isHeld) return
      isHeld = false
      for (const pair of pairs) release(pair)
      for (const begin of waiting.splice(0)) begin()
    },
    /** Bytes received from the target so far. */
    bytesBack: (): number => [...pairs].reduce((sum, { server }) => sum + server.bytesRead, bytesOfEnded),
    /** Leads new connections to this port from now on. */
    leadTo: (port: number) => {
      target = port
    },
    close: async () => {
      const closed = new Promise((resolve) => listener.close(resolve))
      cut()
      await closed
    },
  }
}
