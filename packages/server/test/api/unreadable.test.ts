import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { call, createWorld, operation, send } from '../support/actors/all-callers.ts'
import { startKit } from '../support/deployment/deployment.ts'

/** Sends bytes as they are, and reads until the server ends the connection. */
function exchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = connect(Number(port), hostname, () => socket.write(bytes))
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.on('error', reject)
  socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
  return promise
}

test('what is no HTTP is answered in the shape of every error, with a request id', async (t) => {
  const kit = await startKit(t)
  const host = 'Host: holdfast.test\r\n'
  const cases: Record<string, string> = {
    'headers too large': `GET /healthz HTTP/1.1\r\n${host}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`,
    'no method of HTTP': `HOLD /healthz HTTP/1.1\r\n${host}\r\n`,
    'no Host': 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n',
    'length and chunks': `POST /v1/enroll HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'two lengths': `POST /v1/enroll HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
    'an expectation': `POST /v1/enroll HTTP/1.1\r\n${host}Connection: close\r\nExpect: miracles\r\nContent-Length: 0\r\n\r\n`,
    'a bare line feed': `GET /healthz HTTP/1.1\nHost: x\n\n\0\r\n\r\n`,
    'a tunnel': `CONNECT example.com:443 HTTP/1.1\r\n${host}\r\n`,
    nonsense: '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n',
  }
  for (const [what, bytes] of Object.entries(cases)) {
    const text = await exchange(kit.url, bytes)
    const [head = '', body = ''] = text.split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 400 /, `${what}: ${text}`)
    const headers = Object.fromEntries(
      head
        .split('\r\n')
        .slice(1)
        .map((line) => line.toLowerCase().split(/: (.*)/s)),
    )
    const { error, detail, request_id } = JSON.parse(body)
    assert.deepEqual([error, typeof detail], ['bad_request', 'string'], what)
    assert.match(request_id, /^[0-9a-f]{32}$/)
    assert.equal(request_id, headers['x-request-id'], what)
    assert.match(headers['content-type'], /^application\/json/, what)
    assert.equal(headers['cache-control'], 'no-store', what)
  }
})

test('of a path of SCIM or of a back channel it is answered as those say errors', async (t) => {
  const kit = await startKit(t)
  const ask = async (start: string) => {
    const [head = '', body = ''] = (await exchange(kit.url, start)).split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 400 /)
    return { head, body: JSON.parse(body) }
  }
  const end = ' HTTP/1.1\r\nHost: holdfast.test\r\n\r\n'
  for (const start of [
    `GET /v1/scim/v2/Users/${'x'.repeat(20_000)}${end}`,
    'GET /v1/scim/v2/Users HTTP/1.1\r\nConnection: close\r\n\r\n',
  ]) {
    const { head, body } = await ask(start)
    assert.match(head, /content-type: application\/scim\+json/i)
    assert.deepEqual([body.schemas, body.status], [['urn:ietf:params:scim:api:messages:2.0:Error'], '400'])
  }
  const { body } = await ask(`POST /admin/logout/oidc/backchannel/${'x'.repeat(20_000)}${end}`)
  assert.equal(body.error, 'invalid_request')
})

test('a GET with a body of any type, and a query that can not be decoded, are 400', async (t) => {
  const kit = await startKit(t)
  const world = await createWorld(kit)
  for (const [name, caller] of [
    ['listUsers', 'api_key'],
    ['policyDigest', 'device'],
    ['unifiedPolicy', 'gateway'],
  ] as const)
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded', undefined]) {
      const { path } = operation(name)
      const headers = { ...world.callers[caller]('GET', kit.publicUrl + path), ...(type && { 'content-type': type }) }
      const answer = await send(kit, 'GET', path, headers, '{}')
      assert.deepEqual([answer.status, answer.json.error], [400, 'bad_request'], `${name} ${type}: ${answer.text}`)
    }
  for (const query of ['?q=%zz', '?q=%', '?q=%ff', '?q=%c3%28', '?%zz=1']) {
    const answer = await call(kit, operation('listUsers'), world.callers.api_key, undefined, query)
    assert.deepEqual([answer.status, answer.json.error], [400, 'bad_request'], `${query}: ${answer.text}`)
  }
  assert.equal((await call(kit, operation('listUsers'), world.callers.api_key, undefined, '?q=%C3%A9+a')).status, 200)
})

test('a policy document of nearly 1 MiB can be sent; a body beyond what stands around it can not', async (t) => {
  const kit = await startKit(t)
  const rule = (i: number) => ({
    id: `r${i}`,
    description: 'x'.repeat(400),
    action: 'allow',
    from: { any: true },
    to: ['10.0.0.0/8'],
  })
  const document = (rules: number) => ({
    schema: 'holdfast.policy/1',
    rules: Array.from({ length: rules }, (_, i) => rule(i)),
  })
  const full = document(2090)
  const size = Buffer.byteLength(JSON.stringify(full))
  assert.ok(size > 1_020_000 && size < 1024 * 1024, String(size))
  const publish = (policy: object) => kit.admin.publishPolicy({ body: { channel: 'stable', policy: { ...policy } } })
  assert.equal((await publish(full)).version, 1)
  await assert.rejects(publish(document(2300)), (e: { status?: number }) => e.status === 422)
  await assert.rejects(publish(document(4999)), (e: { status?: number }) => e.status === 400)
})
