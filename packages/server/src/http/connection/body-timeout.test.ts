import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { refuseLate } from '../answer/unreadable.ts'
import { createBodyTimeout, exempt } from './body-timeout.ts'

test('a body that does not arrive in time is refused and its connection closed; an exempt one is not', async (t) => {
  const bodyTimeout = createBodyTimeout(refuseLate, { timeoutMs: 200, lookMs: 50 })
  const listener: RequestListener = (request, response) => {
    if (request.url === '/upload') exempt(request)
    request.resume().once('end', () => response.end('whole'))
  }
  const server = createServer({ requestTimeout: 0 }, bodyTimeout.around(listener))
  bodyTimeout.attend(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const ask = (path: string, pauseMs: number) =>
    new Promise<string>((resolve) => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      let text = ''
      socket.on('data', (data) => {
        text += data
        if (text.endsWith('whole')) socket.destroy()
      })
      socket.once('close', () => resolve(text))
      socket.on('error', () => {})
      socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345`)
      setTimeout(() => socket.write('67890'), pauseMs).unref()
    })
  const [late, soon, upload] = await Promise.all([ask('/', 2000), ask('/', 20), ask('/upload', 600)])
  assert.match(late, /^HTTP\/1.1 400 [\s\S]*the request did not arrive completely in time/)
  assert.match(soon, /whole$/)
  assert.match(upload, /whole$/)
})
