import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { AuditKind } from '@holdfast/contract/vocabulary'
import { createPeppers, generateKey, mintToken } from '@holdfast/crypto'
import { changeSecuritySettings } from '@holdfast/sdk'
import { call, deviceCaller, enrollRaw, operation, type Raw } from '../support/actors/all-callers.ts'
import { makeUser, signInAs } from '../support/actors/people.ts'
import { send } from '../support/clients/raw-http.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { assertOneASecond } from '../support/deployment/request-rate.ts'
import { promptly, until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const use = (kit: Kit, token: string, more: { localAddress?: string; path?: string } = {}) =>
  send(kit.url, { path: '/v1/admin/me', headers: { authorization: `Bearer ${token}` }, ...more })
const statuses = (answers: { status: number }[]) => new Set(answers.map((a) => a.status))
/** Waits for audit events of this kind. */
async function onRecord<K extends AuditKind>(kit: Kit, kind: K) {
  let events: Awaited<ReturnType<typeof eventsOf<K>>> = []
  await until(async () => {
    // These reads are rate-limited too.
    await delay(100)
    events = await eventsOf(kit, kind).catch(() => [])
    return events.length > 0
  }, kind)
  return events
}

test('credentials that fail', async (t) => {
  const kit = await startKit(t, { config: { authFailuresPerMinute: 60 } })
  const { admin } = kit
  const others = createPeppers([{ key: createSecretKey(Buffer.alloc(32, 9)), isRetired: false }], 1)
  const forge = () => mintToken(others, 'hfk', kit.tenant).token

  await t.test(
    'from one address they are told to wait, while good ones pass, and other addresses are not concerned',
    async () => {
      const began = performance.now()
      const answers = await times(60, (i) => use(kit, i % 3 === 0 ? kit.adminKey : forge()))
      const good = answers.filter((_, i) => i % 3 === 0)
      const bad = answers.filter((_, i) => i % 3 !== 0)
      assert.deepEqual(statuses(good), new Set([200]))
      assert.deepEqual(statuses(bad), new Set([401, 429]))
      assertOneASecond(bad, 401, began)
      const waiting = bad.find((a) => a.status === 429)
      assert.equal(waiting?.json.error, 'rate_limited')
      assert.ok(Number(waiting?.headers['retry-after']) >= 1)
      assert.equal((await use(kit, forge(), { localAddress: '127.0.0.9' })).status, 401)
    },
  )

  await t.test('one that was issued here is on record, once at once however often it is tried', async () => {
    const from = (localAddress: string) => ({ localAddress })
    const { api_key, secret } = await admin.createApiKey({ body: { name: 'leaked', role: 'viewer' } })
    await admin.revokeApiKey({ params: { key_id: api_key.key_id } })
    const tried = await times(5, () => use(kit, secret, from('127.0.0.10')))
    assert.deepEqual(statuses(tried), new Set([401]))
    const { secret: token, enrollment_token } = await admin.generateToken({ body: { max_uses: 0 } })
    const device = await enrollRaw(kit, token)
    await admin.changeDevice({ body: { operation: 'suspend', device_id: device.id } })
    assert.notEqual((await call(kit, operation('policyDigest'), device.caller)).status, 200)
    await admin.revokeToken({ params: { token_id: enrollment_token.token_id } })
    await assert.rejects(enrollRaw(kit, token), /401|429/)
    const [event, ...more] = await onRecord(kit, 'api_key.refused')
    assert.deepEqual(more, [])
    const { key_id, reason, refused, source_ip, outcome } = event as Record<string, unknown>
    assert.deepEqual(
      { key_id, reason, refused, source_ip, outcome },
      { key_id: api_key.key_id, reason: 'revoked', refused: 1, source_ip: '127.0.0.10', outcome: 'refused' },
    )
    const [device_refused] = await onRecord(kit, 'device.refused')
    assert.deepEqual([device_refused?.device_id, device_refused?.reason], [device.id, 'suspended'])
    const [token_refused] = await onRecord(kit, 'enrollment_token.refused')
    assert.deepEqual([token_refused?.token_id, token_refused?.reason], [enrollment_token.token_id, 'revoked'])
  })
})

test('everybody else at the doors', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await t.test('what is refused without a credential, or with a token that is used up, is on record once at once', () =>
    onceOnRecord(kit),
  )
  await t.test('bodies of strangers are short, few-named, and not waited for', () => ofStrangers(kit))
  await t.test('a moment that is none is refused where it is read', () => moments(kit))
  await t.test('a key does what its owner may do now', () => keyOf(kit))
  await t.test('a device stands and falls with its user and with the key that the tenant asks for', () => deviceOf(kit))
  await t.test('everyone has a rate: a device, a session, a key; and nobody uses up that of another', () => rates(kit))
})

async function onceOnRecord(kit: Kit): Promise<void> {
  const login = (json: object) => send(kit.url, { method: 'POST', path: '/admin/login', json })
  const unread = [...(await times(10, () => login({ username: 'x' }))), await login({ username: '', password: '' })]
  assert.deepEqual(statuses(unread), new Set([422]))
  const { secret: token, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 1 } })
  await enrollRaw(kit, token)
  await Promise.all(Array.from({ length: 5 }, () => assert.rejects(enrollRaw(kit, token), /401/)))
  const refused = await onRecord(kit, 'request.refused')
  assert.deepEqual(
    refused.map((e) => [e.operation, e.actor.name, e.outcome, e.details?.refused]),
    [['login', '127.0.0.1', 'refused', 1]],
  )
  const unused = await kit.admin.generateToken({ body: { max_uses: 1 } })
  const elsewhere = deviceCaller(unused.secret, generateKey('ES256').privateJwk)(
    'POST',
    'https://other.example/v1/enroll',
  )
  const device = { name: 'laptop', platform: 'linux' }
  assert.equal((await call(kit, operation('enroll'), () => elsewhere, { device })).status, 401)
  const spent = await onRecord(kit, 'enrollment_token.refused')
  assert.deepEqual(
    spent.map((e) => [e.token_id, e.reason, e.refused]),
    [
      [unused.enrollment_token.token_id, 'no_proof', 1],
      [enrollment_token.token_id, 'spent', 1],
    ],
    'a proof for another address leaves the token unused',
  )
}

async function ofStrangers(kit: Kit): Promise<void> {
  const login = (json: object) => send(kit.url, { method: 'POST', path: '/admin/login', json })
  assert.equal((await login({ username: 'x', password: 'y'.repeat(9000) })).status, 400)
  const enroll = { enrollment_token: 'x', device: { name: 'x'.repeat(9000), platform: 'linux' } }
  assert.equal((await send(kit.url, { method: 'POST', path: '/v1/enroll', json: enroll })).status, 400)

  const names = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 1]))
  const wide = await send(kit.url, {
    method: 'POST',
    path: '/v1/admin/groups/lifecycle',
    json: names(60_000),
    headers: { authorization: `Bearer ${kit.adminKey}` },
  })
  assert.equal(wide.status, 400)
  assert.match(wide.json.detail, /more than 2000 names/)

  const { hostname, port } = new URL(kit.url)
  const socket = connect({ host: hostname, port: Number(port) })
  const head =
    'POST /v1/admin/groups/lifecycle HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{'
  socket.write(head)
  const startedAt = performance.now()
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  assert.match(answer, /^HTTP\/1\.1 401 [\s\S]*connection: close/i)
  assert.ok(performance.now() - startedAt < promptly)
}

async function moments(kit: Kit): Promise<void> {
  for (const from of [
    '9999-12-31T23:59:60Z',
    '2026-02-30T00:00:00Z',
    '9999-12-31T23:59:59-14:00',
    '2026-01-01T24:00:00Z',
  ]) {
    const path = `/v1/audit/events?from=${encodeURIComponent(from)}`
    const got = await send(kit.url, { path, headers: { authorization: `Bearer ${kit.adminKey}` } })
    assert.equal(got.status, 400, from)
    const json = { device_id: 'dev_x', target: '10.0.0.1', at: from }
    const headers = { authorization: `Bearer ${kit.adminKey}` }
    const asked = await send(kit.url, { method: 'POST', path: '/v1/admin/policy/explain', json, headers })
    assert.equal(asked.status, 422, from)
  }
}

async function keyOf(kit: Kit): Promise<void> {
  const { admin } = kit
  const graceId = await makeUser(kit, 'grace', ['tenant_admin'])
  await makeUser(kit, 'hopper', ['tenant_admin'])
  const grace = await signInAs(kit, 'grace')
  const made = await grace.post('/v1/admin/api-keys', { name: 'of grace', role: 'tenant_admin' })
  assert.equal(made.status, 201, made.text)
  assert.equal(made.json.api_key.user_id, graceId)
  const { secret } = made.json
  const heir = await send(kit.url, {
    method: 'POST',
    path: '/v1/admin/api-keys',
    json: { name: 'made by the key', role: 'viewer' },
    headers: { authorization: `Bearer ${secret}` },
  })
  assert.equal(heir.status, 201, heir.text)
  const asks = async (token: string, path: string) => {
    const answers = []
    for (const replica of kit.replicas)
      answers.push((await send(replica.url, { path, headers: { authorization: `Bearer ${token}` } })).status)
    return answers
  }
  const settings = '/v1/admin/settings/security'
  assert.deepEqual(await asks(secret, settings), [200, 200])

  const { user: robot } = await admin.changeUser({
    body: { operation: 'create', user: { username: 'robot', kind: 'service' } },
  })
  const forRobot = { name: 'of the robot', role: 'viewer', user_id: robot.user_id }
  const refused = await grace.post('/v1/admin/api-keys', forRobot)
  assert.equal(refused.status, 422, 'the account does not hold the role')
  await admin.grantRole({ body: { user_id: robot.user_id, role: 'viewer' } })
  const automation = await grace.post('/v1/admin/api-keys', forRobot)
  assert.equal(automation.status, 201, automation.text)
  const other = await grace.post('/v1/admin/api-keys', { ...forRobot, user_id: graceId })
  assert.equal(other.status, 422, 'a person is no service account')

  await admin.grantRole({ body: { user_id: graceId, role: 'viewer' } })
  await admin.revokeRole({ body: { user_id: graceId, role: 'tenant_admin' } })
  await kit.heard()
  assert.deepEqual(await asks(secret, settings), [403, 403])
  assert.deepEqual(await asks(secret, '/v1/admin/users'), [200, 200])
  await admin.suspendUser({ body: { user_id: graceId } })
  await kit.heard()
  for (const token of [secret, heir.json.secret]) assert.deepEqual(await asks(token, '/v1/admin/me'), [401, 401])
  assert.deepEqual(await asks(automation.json.secret, '/v1/admin/users'), [200, 200], 'automation goes on')
  await admin.reactivateUser({ body: { user_id: graceId } })
  await kit.heard()
  assert.deepEqual(await asks(secret, '/v1/admin/users'), [200, 200])
  await admin.changeUser({ body: { operation: 'delete', user_id: graceId } })
  await kit.heard()
  assert.deepEqual(await asks(secret, '/v1/admin/me'), [401, 401])
}

async function deviceOf(kit: Kit): Promise<void> {
  const { admin } = kit
  const ada = await makeUser(kit, 'ada')
  const { secret: token } = await admin.generateToken({ body: { max_uses: 0, user_id: ada, requires_approval: true } })
  const pending = await enrollRaw(kit, token)
  const renew = () => call(kit, operation('renewCredential'), pending.caller, {})
  await admin.suspendUser({ body: { user_id: ada } })
  assert.equal((await renew()).status, 401, 'a pending device of a suspended user')
  await assert.rejects(enrollRaw(kit, token), /403.*suspended, locked or deleted/)
  await admin.reactivateUser({ body: { user_id: ada } })
  assert.equal((await renew()).status, 200)
  await admin.changeUser({ body: { operation: 'delete', user_id: ada } })
  await assert.rejects(enrollRaw(kit, token), /401/, 'the token ends with its user')

  await changeSecuritySettings(admin, { devices: { require_device_key: false } })
  const { secret: open } = await admin.generateToken({ body: {} })
  const bearer = (credential: string) => () => ({ authorization: `Bearer ${credential}` })
  const keyless = await call(kit, operation('enroll'), bearer(open), { device: { name: 'old', platform: 'linux' } })
  assert.equal(keyless.status, 201, keyless.text)
  const again = () => call(kit, operation('renewCredential'), bearer(String(keyless.json.credential)), {})
  await changeSecuritySettings(admin, { devices: { require_device_key: true } })
  const refused = await again()
  assert.equal(refused.status, 422)
  assert.match(String(refused.json.detail), /new_public_key/)
}

async function rates(kit: Kit): Promise<void> {
  const { admin } = kit
  const { secret: token } = await admin.generateToken({ body: { max_uses: 0 } })
  const [busy, calm] = [await enrollRaw(kit, token, 'busy'), await enrollRaw(kit, token, 'calm')]
  await makeUser(kit, 'rated', ['viewer'])
  const grace = await signInAs(kit, 'rated')
  const key = await kit.keyFor('viewer')
  await changeSecuritySettings(admin, {
    api: {
      requests_per_minute_per_device: 60,
      requests_per_minute_per_session: 60,
      requests_per_minute_per_key: 60,
    },
  })
  const few = async (ask: (i: number) => Promise<Pick<Raw, 'status' | 'headers'>>) => {
    const began = performance.now()
    const answers = await times(30, ask)
    assertOneASecond(answers, 200, began)
    assert.deepEqual(statuses(answers), new Set([200, 429]))
    for (const { status, headers } of answers) {
      assert.match(String(headers['ratelimit-policy']), /^"\w+";q=10;w=10$/)
      assert.match(String(headers.ratelimit), status === 429 ? /";r=0;t=(9|10)$/ : /";r=\d;t=\d+$/)
    }
  }
  await few((i) => call(kit, operation(i % 2 ? 'policyDigest' : 'trustAnchors'), busy.caller))
  assert.deepEqual(statuses(await times(8, () => call(kit, operation('policyDigest'), calm.caller))), new Set([200]))
  await few(() => grace.get('/v1/admin/me'))
  await few(() => use(kit, key))
  const throttled = await onRecord(kit, 'api_key.throttled')
  assert.deepEqual(
    throttled.map((e) => [e.refused, e.outcome]),
    [[1, 'refused']],
  )
}
