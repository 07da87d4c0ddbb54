import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createLargeBodies } from './large-bodies.ts'

const most = 64 * 1024 * 1024

/** Starts requests of `most` bytes whose clients can disconnect. */
async function startRequests(t: { after: (end: () => unknown) => void }) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return async () => {
    const { port } = server.address() as AddressInfo
    const sent = request({ port, method: 'POST', headers: { 'content-length': most } }).on('error', () => {})
    sent.flushHeaders()
    const [incoming, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
    const gone = once(response, 'close')
    const leave = async () => {
      sent.destroy()
      await gone
    }
    return { take: (take: ReturnType<typeof createLargeBodies>) => take('tenant', most, incoming, response), leave }
  }
}

test('a client that disconnects frees its share before, during and after reading the body', async (t) => {
  const next = await startRequests(t)
  const take = createLargeBodies()

  const early = await next()
  await early.leave()
  assert.ok(early.take(take), 'a client that left during authentication')

  const reading = await next()
  assert.ok(reading.take(take))
  assert.equal((await next()).take(take), undefined)
  await reading.leave()

  const working = await next()
  const body = working.take(take)
  assert.ok(body)
  const { promise, resolve } = Promise.withResolvers<string>()
  const done = body.during(promise)
  await working.leave()
  const other = await next()
  assert.equal(other.take(take), undefined, 'its memory is in use, though nobody waits for the answer')
  resolve('done')
  assert.equal(await done, 'done')
  assert.ok(other.take(take))
  await other.leave()

  // Reading the body and using it are separate work.
  const refusal = Promise.withResolvers<void>()
  const using = body.during(refusal.promise)
  const last = await next()
  assert.equal(last.take(take), undefined)
  refusal.reject(new Error('refused'))
  await assert.rejects(using, /refused/)
  assert.ok(last.take(take))
  await last.leave()
})
