import { connect, type Socket } from 'node:net'

/** One answer: `raw` is head and body as they arrived, valid only during the call. */
type OnReply = (status: number, raw: Buffer) => void
export type Connection = { send: (request: Uint8Array) => void; end: () => void }

const endOfHead = '\r\n\r\n'

/**
 * A keep-alive HTTP/1.1 connection that sends prepared bytes and finds the end of each answer. It does nothing else,
 * since it must be cheaper than the server that it measures. One request at a time; answers carry a Content-Length or
 * no body. `onBroken` is called when the connection breaks, and for each request that is sent afterwards.
 */
export function openConnection(
  at: { port: number; localAddress?: string },
  onReply: OnReply,
  onBroken: (e: Error) => void,
): Promise<Connection> {
  let held: Buffer | undefined
  let ended = false
  let cause: Error | undefined
  const take = (chunk: Buffer) => {
    const data = held ? Buffer.concat([held, chunk]) : chunk
    const head = data.indexOf(endOfHead)
    const length = head < 0 ? Number.POSITIVE_INFINITY : head + endOfHead.length + bodyLength(data, head)
    if (data.length < length) {
      held = held ? data : Buffer.from(data)
      return
    }
    held = undefined
    onReply(statusOf(data), data)
  }
  const broken = (e: Error) => {
    if (ended || cause) return
    cause = e
    onBroken(e)
  }
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: '127.0.0.1', noDelay: true, ...at })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      socket.on('error', broken)
      socket.on('close', () => broken(new Error('the server closed the connection')))
      socket.on('data', take)
      resolve({
        send: (request) => void (cause ? setImmediate(onBroken, cause) : socket.write(request)),
        end: () => {
          ended = true
          socket.destroy()
        },
      })
    })
  })
}

const statusOf = (data: Buffer): number => (data[9]! - 48) * 100 + (data[10]! - 48) * 10 + data[11]! - 48

function bodyLength(data: Buffer, head: number): number {
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(data.toString('latin1', 0, head)) ?? []
  return length === undefined ? 0 : Number(length)
}

/** Sends one request on a new connection. */
export async function askOnce(port: number, request: Uint8Array): Promise<{ status: number; raw: Buffer }> {
  let connection: Connection | undefined
  try {
    return await new Promise((resolve, reject) => {
      const at = openConnection({ port }, (status, raw) => resolve({ status, raw: Buffer.from(raw) }), reject)
      at.then((c) => {
        connection = c
        c.send(request)
      }, reject)
    })
  } finally {
    connection?.end()
  }
}
