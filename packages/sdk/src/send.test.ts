import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../test/support/scripted-server.ts'
import { createAdmin, signIn } from './admin/admin.ts'
import { createClient } from './client.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { createSender } from './send.ts'

test('path parameters are encoded, undefined query parameters are left out, and bodies are JSON', async (t) => {
  const { baseUrl, asked } = await startServer(t, () => ({ body: {} }))
  const client = createClient({ baseUrl: `${baseUrl}/`, credential: () => 'hfk_x' })
  await client.getToken({ params: { token_id: 'a/b?c#d %e' } })
  await client.listDevices({ query: { tag: 'a&b', limit: 5, tenant_id: 'tnt_b' } }, { headers: { 'x-test': '1' } })
  await client.revokeToken({ params: { token_id: 'tok_1' }, body: { reason: 'lost' } }, { idempotencyKey: 'k1' })
  await client.logout()
  const [first, second, third, fourth] = asked
  assert.equal(first?.path, '/v1/admin/tokens/a%2Fb%3Fc%23d%20%25e')
  assert.equal(second?.search, '?tag=a%26b&limit=5&tenant_id=tnt_b')
  assert.equal(second?.headers.authorization, 'Bearer hfk_x')
  assert.equal(second?.headers['x-test'], '1')
  assert.deepEqual(third?.body, { reason: 'lost' })
  assert.equal(third?.headers['idempotency-key'], 'k1')
  assert.equal(third?.headers['content-type'], 'application/json')
  assert.equal(fourth?.body, undefined)
})

test('a path parameter that would change the path is refused before sending', async () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:1' })
  for (const token_id of ['', '.', '..']) await assert.rejects(client.getToken({ params: { token_id } }), TypeError)
})

test('a base path before the routes is kept', async (t) => {
  const { baseUrl, asked } = await startServer(t, () => ({ body: {} }))
  await createClient({ baseUrl: `${baseUrl}/control/` }).health()
  assert.equal(asked[0]?.path, '/control/healthz')
})

test('a malformed base URL is refused at once', () => {
  for (const baseUrl of ['', 'control.example', 'file:///etc', 'http://user:pass@host', 'http://host/?q=1'])
    assert.throws(() => createSender({ baseUrl }), TypeError, baseUrl)
})

test('an error of the server keeps its code, detail, fields, request id and Retry-After', async (t) => {
  const errors = [{ field: 'name', message: 'is required' }]
  const { baseUrl } = await startServer(t, () => ({
    status: 429,
    headers: { 'retry-after': '7' },
    body: { error: 'rate_limited', detail: 'too many', request_id: 'r-1', errors },
  }))
  await assert.rejects(createClient({ baseUrl }).me(), (error) => {
    assert.ok(error instanceof ApiError)
    const { status, code, detail, requestId, retryAfterSeconds } = error
    assert.deepEqual([status, code, detail, requestId, retryAfterSeconds], [429, 'rate_limited', 'too many', 'r-1', 7])
    assert.deepEqual(error.errors, errors)
    return true
  })
})

test('a refused credential on a machine with a wrong clock reports the difference', async (t) => {
  const body = { error: 'unauthorized', detail: 'The credential is not accepted.', request_id: 'r' }
  for (const [minutes, says] of [
    [
      -3,
      /^ApiError: The credential is not accepted\. The clock of this machine is 1\d\d seconds ahead of the server's: set it/,
    ],
    [3, /The clock of this machine is 1\d\d seconds behind the server's/],
    [0, /^ApiError: The credential is not accepted\.$/],
  ] as const) {
    const date = new Date(Date.now() + minutes * 60_000).toUTCString()
    const { baseUrl } = await startServer(t, () => ({ status: 401, headers: { date }, body }))
    await assert.rejects(createClient({ baseUrl }).policyDigest(), says)
  }
})

test('an error page of a proxy still gives its status', async (t) => {
  const { baseUrl } = await startServer(t, () => ({ status: 502, text: '<html>', headers: { 'x-request-id': 'p-1' } }))
  await assert.rejects(createClient({ baseUrl }).me(), { status: 502, code: 'unexpected_response', requestId: 'p-1' })
})

test('a redirect is not followed', async (t) => {
  const { baseUrl, asked } = await startServer(t, () => ({ status: 307, headers: { location: '/elsewhere' } }))
  await assert.rejects(createClient({ baseUrl, credential: 'hfk_x' }).me(), ConnectionError)
  assert.equal(asked.length, 1)
})

test('a missing server, a non-JSON answer and a broken connection each give a clear sentence', async (t) => {
  const gone = createClient({ baseUrl: 'http://127.0.0.1:1' })
  await assert.rejects(gone.health(), {
    name: 'ConnectionError',
    message: /^Can't reach http:\/\/127\.0\.0\.1:1: .+\.$/,
  })
  const html = await startServer(t, () => ({ text: '<html>' }))
  await assert.rejects(createClient({ baseUrl: html.baseUrl }).health(), {
    name: 'ConnectionError',
    message: /not with JSON/,
  })
  const broken = await startServer(t, () => 'hang up' as const)
  await assert.rejects(createClient({ baseUrl: broken.baseUrl }).health(), ConnectionError)
})

test('an aborted request throws an AbortError', async (t) => {
  const { baseUrl } = await startServer(t, () => new Promise(() => {}))
  const abort = new AbortController()
  const asking = createClient({ baseUrl }).health({}, { signal: abort.signal })
  setTimeout(() => abort.abort(), 20)
  await assert.rejects(asking, { name: 'AbortError' })
})

test('a 304 is returned without a body, and a wait is sent as Prefer', async (t) => {
  const { baseUrl, asked } = await startServer(t, () => ({ status: 304, headers: { etag: '"x"' } }))
  const reply = await createSender({ baseUrl })('policyDigest', {}, { wait: 25, headers: { 'if-none-match': '"x"' } })
  assert.equal(reply.status, 304)
  assert.equal(reply.body, undefined)
  assert.equal(reply.headers.etag, '"x"')
  assert.equal(asked[0]?.headers.prefer, 'wait=25')
})

test('signIn keeps the cookie, and changes with it send their origin', async (t) => {
  const { baseUrl, asked } = await startServer(t, ({ path }) =>
    path === '/admin/login'
      ? {
          headers: { 'set-cookie': 'holdfast_session=abc; HttpOnly; Path=/' },
          body: {
            user: { user_id: 'usr_1', username: 'admin', tenant_id: 'tnt_1' },
            expires_at: '2030-01-01T00:00:00Z',
          },
        }
      : { body: {} },
  )
  const { client, cookie } = await signIn({ baseUrl, username: 'admin', password: 'secret' })
  assert.equal(cookie, 'holdfast_session=abc')
  await client.logout()
  await createAdmin({ baseUrl, cookie }).me()
  const [login, logout, me] = asked
  assert.deepEqual(login?.body, { username: 'admin', password: 'secret' })
  assert.equal(login?.headers.origin, baseUrl)
  assert.equal(logout?.headers.cookie, cookie)
  assert.equal(logout?.headers.origin, baseUrl)
  assert.equal(me?.headers.cookie, cookie)
  assert.equal(me?.headers.authorization, undefined)
})
