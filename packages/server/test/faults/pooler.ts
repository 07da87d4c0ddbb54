import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import pg from 'pg'

/** The frontend messages that are answered with ReadyForQuery, and the one that ends the connection. */
const [query, sync, terminate] = ['Q', 'S', 'X'].map((c) => c.charCodeAt(0))
const message = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const int32 = (n: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(n)
  return bytes
}

/**
 * A pooler in transaction mode with one backend, like PgBouncer with pool_mode = transaction. A client keeps the
 * backend until its transaction ends, and then the next client gets it. A client that ends is sent the error of a
 * shutdown, as PostgreSQL does if both happen at once.
 */
export async function startPooler(t: TestContext, url: string, { takesOptions = true } = {}): Promise<string> {
  const backend = await openBackend(t, url)
  let turn: Promise<unknown> = Promise.resolve()
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    sockets.add(client)
    client.on('error', () => {})
    let isStarted = false
    let holdsBackend = false
    let pending = Buffer.alloc(0)
    const serve = async (whole: Buffer) => {
      const own = holdsBackend ? undefined : turn
      let release = () => {}
      if (own) turn = new Promise<void>((resolve) => (release = resolve))
      await own
      const { answer, status } = await backend.ask(whole)
      holdsBackend = status !== 'I'
      // Only a transaction keeps the backend, and in this test no transaction waits for another.
      release()
      client.write(answer)
    }
    client.on('data', (chunk) => {
      pending = Buffer.concat([pending, chunk])
      if (!isStarted) {
        if (pending.length < 4 || pending.length < pending.readInt32BE(0)) return
        const startup = pending.subarray(0, pending.readInt32BE(0))
        pending = pending.subarray(startup.length)
        if (!takesOptions && startup.includes('\0options\0')) {
          const fields = 'SFATAL\0C08P01\0Munsupported startup parameter: options\0\0'
          return void client.end(message('E', Buffer.from(fields)))
        }
        isStarted = true
        client.write(Buffer.concat([message('R', int32(0)), message('Z', Buffer.from('I'))]))
      }
      // Forwards messages as a whole, up to one that is answered.
      for (let end = 0; pending.length >= end + 5; ) {
        const type = pending[end]!
        if (type === terminate)
          return void client.end(message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0')))
        end += 1 + pending.readInt32BE(end + 1)
        if (pending.length < end) return
        if (type !== query && type !== sync) continue
        const whole = Buffer.from(pending.subarray(0, end))
        pending = pending.subarray(end)
        end = 0
        void serve(whole)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const pooled = new URL(url)
  pooled.search = ''
  pooled.hostname = '127.0.0.1'
  pooled.port = String((server.address() as { port: number }).port)
  return pooled.href
}

/** A raw connection to PostgreSQL. It sends a complete request and returns the complete answer. */
async function openBackend(t: TestContext, url: string) {
  const { host, port, user, database } = new pg.Client(url)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  let received = Buffer.alloc(0)
  let arrived = () => {}
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    arrived()
  })
  /** All up to ReadyForQuery, and its status. */
  async function answer(): Promise<{ answer: Buffer; status: string }> {
    for (let end = 0; ; ) {
      if (received.length >= end + 5 && received.length >= end + 1 + received.readInt32BE(end + 1)) {
        const isReady = received[end] === 'Z'.charCodeAt(0)
        const status = String.fromCharCode(received[end + 5] ?? 0)
        end += 1 + received.readInt32BE(end + 1)
        if (!isReady) continue
        const whole = Buffer.from(received.subarray(0, end))
        received = received.subarray(end)
        return { answer: whole, status }
      }
      await new Promise<void>((resolve) => (arrived = resolve))
    }
  }
  const parameters = Buffer.from(`user\0${user}\0database\0${database}\0\0`)
  socket.write(Buffer.concat([int32(parameters.length + 8), int32(196_608), parameters]))
  await answer()
  return {
    ask: (whole: Buffer) => {
      socket.write(whole)
      return answer()
    },
  }
}
