import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { Streamed } from '../../kernel/streamed.ts'
import type { MinimumRate } from '../connection/minimum-rate.ts'
import { sendError } from './error-response.ts'
import { sendStreamed } from './streamed.ts'

const pace: MinimumRate = { graceMs: 2000, bytesPerSecond: 1_000_000_000 }
const type = 'application/x-ndjson'

/**
 * Starts a server that streams the result of `open` once `ready` settles, and a client that reads nothing by itself.
 */
async function streaming(t: TestContext, open: Streamed['open'], ready = Promise.resolve()) {
  const app = Fastify()
  const gone = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  app.get('/', async (request, reply) => {
    reply.raw.once('close', gone.resolve)
    await ready
    answered.resolve(sendStreamed(request, reply, new Streamed({ type, filename: 'x.ndjson' }, open), pace))
    await answered.promise
    return reply
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').pause()
  t.after(async () => {
    socket.destroy()
    await app.close()
  })
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  return { app, socket, gone: gone.promise, answered: answered.promise }
}

test('nothing is opened for a client that has disconnected', async (t) => {
  let opened = 0
  const open = async () => {
    opened++
    return [Buffer.from('x')] as unknown as AsyncIterable<Uint8Array>
  }
  const ready = Promise.withResolvers<void>()
  const { app, socket, gone, answered } = await streaming(t, open, ready.promise)
  await once(app.server, 'request')
  socket.destroy()
  await gone
  ready.resolve()
  await answered
  assert.equal(opened, 0)
})

test('a client that does not read the end of a stream is cut, one that reads it is not', async (t) => {
  // More than the system buffers for a connection, generated at once: nothing is left to generate while the stream
  // waits.
  const end = Buffer.alloc(32 * 1024 * 1024, 'x')
  const endings: AbortSignal[] = []
  const open = async (ended: AbortSignal) => {
    endings.push(ended)
    return (async function* () {
      yield end
    })()
  }
  const slow = await streaming(t, open)
  await slow.gone
  const fast = await streaming(t, open)
  let taken = 0
  fast.socket.on('data', (data) => {
    taken += data.length
  })
  fast.socket.resume()
  await fast.gone
  assert.equal(endings.length, 2)
  const text = once(fast.socket, 'close')
  fast.socket.end()
  await text
  assert.ok(taken > end.length, `${taken}`)
})

test('an error before the first byte is answered as an error, not as a file', async (t) => {
  const app = Fastify()
  const log = { error: () => {} }
  app.setErrorHandler((e, request: FastifyRequest, reply: FastifyReply) => sendError(log, e, request, reply))
  const open = async () =>
    // biome-ignore lint/correctness/useYield: its first page fails.
    (async function* (): AsyncGenerator<Uint8Array> {
      throw new Error('the first page can not be read')
    })()
  app.get('/', async (request, reply) => {
    await sendStreamed(request, reply, new Streamed({ type, filename: 'x.ndjson' }, open), pace)
    return reply
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  const answer = await fetch(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`)
  assert.deepEqual([answer.status, ((await answer.json()) as { error: string }).error], [500, 'internal_error'])
  assert.equal(answer.headers.get('content-disposition'), null)
  assert.match(String(answer.headers.get('content-type')), /^application\/json/)
})
