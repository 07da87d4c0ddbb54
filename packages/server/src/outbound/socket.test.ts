import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createOutbound } from './outbound.ts'
import { OutboundError } from './outbound-error.ts'

const refused = (e: unknown) => e instanceof OutboundError && e.code === 'refused'
const within = { timeoutMs: 2000, signal: new AbortController().signal }
const tls = { ca: null, serverName: null }

async function startServer(t: TestContext) {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => {}).end('inner')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

test('an inner address is not connected to in any spelling, nor by a name that leads to one', async (t) => {
  const { port, connections } = await startServer(t)
  let asked = 0
  // The first look-up and the later ones return different addresses.
  const rebinding = async () => (asked++ === 0 ? ['127.0.0.1', '::1'] : ['127.0.0.1'])
  const outbound = createOutbound({ allowedPrivateCidrs: [], lookup: rebinding })
  for (const host of [
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '[::1]',
    '::ffff:127.0.0.1',
    '0',
    '169.254.169.254',
    'name.example',
  ])
    for (const target of [
      { host, port, tls },
      { host, port },
    ])
      await assert.rejects(outbound.connect(target, within), refused, host)
  assert.equal(connections(), 0)
})

test('unencrypted connections stay in allowed networks, and ports below 1024 are for syslog only', async (t) => {
  const { port, connections } = await startServer(t)
  const lookup = async () => ['127.0.0.1', '1.1.1.1']
  const outbound = createOutbound({ allowedPrivateCidrs: ['127.0.0.0/8'], lookup })
  const socket = await outbound.connect({ host: 'syslog.example', port }, within)
  await once(socket.resume(), 'end')
  socket.destroy()
  assert.equal(connections(), 1)
  assert.match(outbound.socketRefusalOf({ host: '1.1.1.1', port: 514 }) ?? '', /without TLS is allowed only/)
  assert.equal(outbound.socketRefusalOf({ host: '1.1.1.1', port: 514, tls }), undefined)
  assert.match(outbound.socketRefusalOf({ host: 'syslog.example', port: 25 }) ?? '', /^The port must be/)
  assert.match(outbound.socketRefusalOf({ host: 'a b', port }) ?? '', /host name or an IP address/)
})
