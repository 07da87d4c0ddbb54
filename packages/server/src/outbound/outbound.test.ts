import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { isPublic } from './address.ts'
import { createOutbound } from './outbound.ts'
import { OutboundError } from './outbound-error.ts'

const loopback = ['127.0.0.0/8', '::1/128']

async function startServer(t: TestContext, listener: RequestListener, host = '127.0.0.1') {
  let connections = 0
  const server = createServer(listener)
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}
const failsWith = (code: OutboundError['code']) => (e: unknown) => e instanceof OutboundError && e.code === code

const waysIn = [
  '127.0.0.1',
  '0x7f.1',
  '2130706433',
  '[::ffff:127.0.0.1]',
  'localhost',
  '[::1]',
  '0',
  '127.0.0.1.',
  '017700000001',
  '[::127.0.0.1]',
  '169.254.169.254',
  '[::ffff:169.254.169.254]',
  '100.64.0.1',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '[2002:7f00:1::]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2001:0:7f00:1::]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  '192.0.2.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
]

test('no spelling of an inner address is connected to', async (t) => {
  const { port, connections } = await startServer(t, (_, response) => response.end('inner'))
  const outbound = createOutbound({ allowedPrivateCidrs: [] })
  for (const host of waysIn)
    await assert.rejects(outbound.request(`https://${host}:${port}/`), failsWith('refused'), host)
  // Another allowed network allows neither these addresses nor plain http to them.
  const other = createOutbound({ allowedPrivateCidrs: ['10.99.0.0/16'] })
  for (const host of waysIn)
    for (const scheme of ['http', 'https'])
      await assert.rejects(other.request(`${scheme}://${host}:${port}/`), failsWith('refused'), `${scheme} ${host}`)
  assert.equal(connections(), 0)
})

test('an allowed network is reached under every spelling of its addresses', async (t) => {
  const { port } = await startServer(t, (_, response) => response.end('inner'))
  const outbound = createOutbound({ allowedPrivateCidrs: loopback })
  for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost']) {
    const { status, body } = await outbound.request(`http://${host}:${port}/`)
    assert.deepEqual([status, body.toString()], [200, 'inner'], host)
  }
  await assert.rejects(outbound.request(`http://169.254.169.254:${port}/`), failsWith('refused'))
})

test('only addresses allocated on the internet are public', () => {
  for (const address of ['1.1.1.1', '2606:4700::1111', '::ffff:1.1.1.1']) assert.ok(isPublic(address), address)
  for (const address of [
    '4000::1',
    '::',
    '192.88.99.1',
    '3fff::1',
    '5f00::1',
    '100::1',
    '2001:db8::1',
    '',
    'localhost',
  ])
    assert.ok(!isPublic(address), address)
})

test('a name is checked by its addresses, and the connection goes to a checked one', async (t) => {
  const { port, connections } = await startServer(t, (_, response) => response.end('inner'))
  const answers = [['10.0.0.1', '127.0.0.1'], ['127.0.0.1'], []]
  let asked = 0
  const lookup = async () => answers[asked++]!
  const closed = createOutbound({ allowedPrivateCidrs: [], lookup })
  for (const _ of answers)
    await assert.rejects(closed.request(`https://rebinding.example:${port}/`), failsWith('refused'))
  assert.equal(connections(), 0)

  // The first answer is used. A name with another second answer is not looked up again.
  asked = 0
  const turning = [['10.0.0.1', '127.0.0.1'], ['169.254.169.254']]
  const open = createOutbound({ allowedPrivateCidrs: loopback, lookup: async () => turning[asked++]! })
  assert.equal((await open.request(`http://rebinding.example:${port}/`)).body.toString(), 'inner')
  assert.equal(asked, 1)
  const unknown = createOutbound({
    allowedPrivateCidrs: [],
    lookup: async () => {
      throw new Error('ENOTFOUND')
    },
  })
  await assert.rejects(unknown.request('https://nowhere.example/'), failsWith('unresolved'))
})

test('a redirect is returned and not followed', async (t) => {
  const paths: string[] = []
  const { port } = await startServer(t, (request, response) => {
    paths.push(request.url!)
    response.writeHead(302, { location: '/inner' }).end()
  })
  const outbound = createOutbound({ allowedPrivateCidrs: loopback })
  const { status, headers } = await outbound.request(`http://127.0.0.1:${port}/`)
  assert.deepEqual([status, headers.location, paths], [302, '/inner', ['/']])
})

test('time and size of an answer are limited', async (t) => {
  const { port } = await startServer(t, (request, response) => {
    if (request.url === '/silent') return
    if (request.url === '/slow') {
      response.write('x')
      const drip = setInterval(() => response.write('x'), 50)
      response.on('close', () => clearInterval(drip))
    } else response.end(Buffer.alloc(3_000_000, 'x'))
  })
  const outbound = createOutbound({ allowedPrivateCidrs: loopback })
  const url = `http://127.0.0.1:${port}`
  for (const path of ['/silent', '/slow'])
    await assert.rejects(outbound.request(url + path, { timeoutMs: 400 }), failsWith('timeout'), path)
  const never = createOutbound({ allowedPrivateCidrs: [], lookup: () => new Promise(() => {}) })
  await assert.rejects(never.request('https://silent.example/', { timeoutMs: 100 }), failsWith('timeout'))
  await assert.rejects(outbound.request(`${url}/`), failsWith('too_large'))
  const cut = await outbound.request(`${url}/`, { maxResponseBytes: 1000, whenTooLarge: 'cut' })
  assert.equal(cut.body.length, 1000)
  await assert.rejects(
    outbound.request(`${url}/`, { method: 'POST', body: 'x'.repeat(256 * 1024 + 1) }),
    failsWith('too_large'),
  )
})

test('proxies of the environment are ignored', async (t) => {
  const proxy = await startServer(t, (_, response) => response.end('proxy'))
  const target = await startServer(t, (_, response) => response.end('target'))
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY']
  for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.port}`
  t.after(() => {
    for (const name of names) delete process.env[name]
  })
  const outbound = createOutbound({ allowedPrivateCidrs: loopback })
  assert.equal((await outbound.request(`http://127.0.0.1:${target.port}/`)).body.toString(), 'target')
  assert.equal(proxy.connections(), 0)
})

test('a URL that would be refused is refused with the reason before it is stored', () => {
  const closed = createOutbound({ allowedPrivateCidrs: [] })
  const open = createOutbound({ allowedPrivateCidrs: ['127.0.0.0/8'] })
  for (const url of ['https://hooks.example/a', 'https://hooks.example:8443/a', 'https://1.1.1.1/'])
    assert.equal(closed.refusalOf(url), undefined, url)
  for (const url of [
    'http://hooks.example/',
    'ftp://hooks.example/',
    'file:///etc/passwd',
    'https://user:password@hooks.example/',
    'https://hooks.example:22/',
    'https://hooks.example:80/',
    'https://127.0.0.1:8443/',
    'https://[::ffff:7f00:1]/',
    'nonsense',
    `https://hooks.example/${'x'.repeat(2048)}`,
  ])
    assert.match(closed.refusalOf(url) ?? '', /^[A-Z].*\.$/, url)
  assert.equal(open.refusalOf('http://127.0.0.1:8080/'), undefined)
  assert.match(open.refusalOf('http://1.1.1.1/') ?? '', /use https/)
  assert.match(open.refusalOf('http://10.0.0.1/') ?? '', /does not allow/)
})
