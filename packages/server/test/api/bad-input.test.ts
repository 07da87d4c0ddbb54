import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { securityHeadersFor } from '../../src/http/answer/security-headers.ts'
import { call, operation, sendToKit } from '../support/clients/api-calls.ts'
import { send as sendRaw } from '../support/clients/raw-http.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('bad input gets the right error, never a 500, and changes nothing', async (t) => {
  const kit = await startKit(t)
  const authorization = `Bearer ${kit.adminKey}`
  const json = { authorization, 'content-type': 'application/json' }
  const path = operation('generateToken').path
  const deep = (n: number) => `{"name":${'['.repeat(n)}1${']'.repeat(n)}}`
  const cases: Record<
    string,
    [headers: Record<string, string>, body: string | Buffer, status: number, error: string, names?: RegExp]
  > = {
    'broken JSON': [json, '{', 400, 'bad_request'],
    'broken JSON without a credential': [{ 'content-type': 'application/json' }, '{', 401, 'unauthorized'],
    'an empty body': [json, '', 400, 'bad_request'],
    'a body over the limit': [json, JSON.stringify({ name: 'x'.repeat(1_100_000) }), 400, 'bad_request'],
    'depth 10,000': [json, deep(10_000), 400, 'bad_request', /nested/],
    'depth 40': [json, deep(40), 400, 'bad_request', /nested/],
    'a name given twice': [json, '{"name":"a","name":"b"}', 400, 'bad_request', /name/],
    __proto__: [json, '{"__proto__":{"admin":true}}', 400, 'bad_request', /__proto__/],
    'constructor.prototype': [json, '{"constructor":{"prototype":{}}}', 422, 'validation_error', /constructor/],
    NUL: [json, '{"name":"a\\u0000b"}', 422, 'validation_error', /NUL/],
    'invalid UTF-8': [
      json,
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
      400,
      'bad_request',
      /UTF-8/,
    ],
    'a lone surrogate': [json, '{"name":"\\ud800"}', 422, 'validation_error', /surrogate|Unicode/],
    'an unknown field': [json, '{"nmae":"x"}', 422, 'validation_error', /nmae/],
    'a wrong type': [json, '{"max_uses":"5"}', 422, 'validation_error', /max_uses/],
    'a fraction': [json, '{"max_uses":1.5}', 422, 'validation_error', /max_uses/],
    'a number too large': [json, '{"max_uses":9007199254740993}', 422, 'validation_error', /9007199254740993/],
    'not an object': [json, '[]', 422, 'validation_error'],
    null: [json, 'null', 422, 'validation_error'],
    'an id of another kind': [json, `{"user_id":"dev_01jxz3c9dqf7vr2m8k4s6t0b5w"}`, 422, 'validation_error', /user_id/],
    'no content type': [{ authorization }, '{}', 400, 'bad_request', /application\/json/],
    'text/plain': [{ authorization, 'content-type': 'text/plain' }, '{}', 400, 'bad_request', /application\/json/],
    'a form': [{ authorization, 'content-type': 'application/x-www-form-urlencoded' }, 'name=x', 400, 'bad_request'],
    'UTF-16': [{ authorization, 'content-type': 'application/json; charset=utf-16' }, '{}', 400, 'bad_request'],
    'UTF-16 in quotes': [
      { authorization, 'content-type': 'application/json; charset="utf-16"' },
      '{}',
      400,
      'bad_request',
      /UTF-8: Content-Type says utf-16/,
    ],
    'two charsets': [
      { authorization, 'content-type': 'application/json; charset=utf-8; charset=utf-16' },
      '{}',
      400,
      'bad_request',
    ],
    ...Object.fromEntries(
      ['; charset="utf-8"', ';odata=verbose', '; charset="UTF-8"; odata=verbose', ' ;profile="a;b"'].map((more) => [
        `application/json${more}`,
        [{ authorization, 'content-type': `application/json${more}` }, '{"nmae":1}', 422, 'validation_error', /nmae/],
      ]),
    ),
    'a tab after the type': [
      { authorization, 'content-type': 'application/json\t' },
      '{"nmae":1}',
      422,
      'validation_error',
    ],
    gzip: [{ ...json, 'content-encoding': 'gzip' }, gzipSync('{}'), 400, 'bad_request', /Content-Encoding/],
    'a key that is no key': [{ ...json, 'idempotency-key': 'a b' }, '{}', 400, 'bad_request', /Idempotency-Key/],
  }
  for (const [what, [headers, body, status, error, names]] of Object.entries(cases)) {
    const answer = await sendToKit(kit, 'POST', path, headers, body)
    assert.deepEqual([answer.status, answer.json.error], [status, error], `${what}: ${answer.text.slice(0, 300)}`)
    assert.equal(answer.json.request_id, answer.headers['x-request-id'], what)
    assert.equal(typeof answer.json.detail, 'string', what)
    assert.deepEqual(
      Object.keys(answer.json).filter((k) => !['error', 'detail', 'request_id', 'errors'].includes(k)),
      [],
      what,
    )
    if (names) assert.match(answer.text, names, what)
    assert.doesNotMatch(answer.text, /FST_|node_modules|at .*\.ts/, what)
  }
  assert.deepEqual((await kit.admin.listTokens()).items, [], 'nothing was made')
})

test('behind a proxy the address of the client is recorded, with port or brackets removed', async (t) => {
  const kit = await startKit(t, { config: { trustedProxies: ['127.0.0.0/8'] } })
  const { secret } = await kit.admin.createApiKey({
    body: { name: 'provisioner', role: 'tenant_admin', directory: 'corp' },
  })
  const search = operation('searchScimUsers').path
  for (const [forwarded, source] of [
    ['203.0.113.9:51234', '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9:51234', '203.0.113.9'],
    ['[2001:db8::5]:443', '2001:db8::5'],
    ['[2001:db8::5]', '2001:db8::5'],
    ['unknown', '127.0.0.1'],
    ['_hidden', '127.0.0.1'],
  ] as const) {
    const type = 'application/scim+json; charset="UTF-8"'
    const headers = { authorization: `Bearer ${secret}`, 'content-type': type, 'x-forwarded-for': forwarded }
    const answer = await sendToKit(
      kit,
      'POST',
      search,
      headers,
      '{"schemas":["urn:ietf:params:scim:api:messages:2.0:SearchRequest"]}',
    )
    assert.equal(answer.status, 200, answer.text)
    const request_id = String(answer.headers['x-request-id'])
    const { items } = await kit.admin.listAuditEvents({ query: { request_id } })
    assert.deepEqual(new Set(items.map(({ source_ip }) => source_ip)), new Set([source]), forwarded)
  }
  assert.equal(kit.logs.filter((line) => line.startsWith('X-Forwarded-For contains an invalid address')).length, 1)
})

test('with an https public URL every answer has Strict-Transport-Security', async (t) => {
  const said = 'max-age=31536000'
  const { url } = await startKit(t, { config: { publicUrl: 'https://vpn.example.test' } })
  for (const [path, headers] of [
    ['/healthz', {}],
    ['/admin/login', {}],
    ['/', { accept: 'text/html' }],
    ['/v1/admin/users', {}],
    ['/v1/nothing', {}],
    ['/v1/%ff', {}],
    ['/v1/admin/me', { authorization: 'Bearer hfk_nonsense' }],
    ['/v1/policy/digest', { authorization: 'Bearer eyJ.eyJ.x' }],
  ] as const) {
    const { headers: found } = await sendRaw(url, { path, headers })
    assert.deepEqual([found['strict-transport-security'], found['x-content-type-options']], [said, 'nosniff'], path)
  }
  const sentOver = (publicUrl: string, isTls: boolean) =>
    securityHeadersFor({ publicUrl, isTls })['strict-transport-security']
  assert.equal(sentOver('http://holdfast.test', true), said)
  assert.equal(sentOver('http://holdfast.test', false), undefined)
})

test('unknown, repeated and malformed query parameters are 400 and named', async (t) => {
  const kit = await startKit(t)
  const get = (query: string) =>
    call(kit, operation('listDevices'), () => ({ authorization: `Bearer ${kit.adminKey}` }), undefined, query)
  for (const [query, names] of [
    ['?surprise=1', /surprise/],
    ['?limit=0', /limit/],
    ['?limit=201', /limit/],
    ['?limit=abc', /limit/],
    ['?limit=1&limit=2', /limit/],
    ['?status=asleep', /status/],
    ['?sort=serial', /sort/],
    ['?cursor=nonsense', /cursor/],
    ['?q=%00', /q: contains the character NUL/],
    ['?user_id=dev_01jxz3c9dqf7vr2m8k4s6t0b5w', /user_id/],
    ['?__proto__=1', /__proto__/],
  ] as const) {
    const answer = await get(query)
    assert.deepEqual([answer.status, answer.json.error], [400, 'bad_request'], `${query}: ${answer.text}`)
    assert.match(answer.text, names)
  }
  for (const query of ['', '?limit=1', '?q=%25', "?q=' or 1=1 --", '?sort=-name&status=active'])
    assert.equal((await get(query)).status, 200, query)
})

test('a cursor is valid only for its list, tenant and filter', async (t) => {
  const kit = await startKit(t)
  for (let i = 0; i < 5; i++) await kit.admin.generateToken({ body: { name: `t${i}` } })
  const first = await kit.admin.listTokens({ query: { limit: 2 } })
  const second = await kit.admin.listTokens({ query: { limit: 2, cursor: first.next_cursor! } })
  const third = await kit.admin.listTokens({ query: { limit: 2, cursor: second.next_cursor! } })
  assert.deepEqual(
    [...first.items, ...second.items, ...third.items].map((x) => x.name),
    ['t4', 't3', 't2', 't1', 't0'],
  )
  assert.equal(third.next_cursor, null)
  const cursor = first.next_cursor!
  await assert.rejects(kit.admin.listTokens({ query: { cursor, status: 'active' } }), /cursor/)
  await assert.rejects(kit.admin.listDevices({ query: { cursor } }), /cursor/)
  const other = await kit.as('tenant_admin', await kit.newTenant())
  await assert.rejects(other.listTokens({ query: { cursor } }), /cursor/)
  await assert.rejects(
    kit.admin.listTokens({ query: { cursor: cursor.slice(0, -2) + (cursor.endsWith('AA') ? 'BB' : 'AA') } }),
    /cursor/,
  )
})
