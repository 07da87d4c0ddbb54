import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProof, generateKey } from '@holdfast/crypto'
import { enrollRaw } from '../support/actors/devices.ts'
import { type ApiAnswer, call, deviceCaller, operation, sendToKit } from '../support/clients/api-calls.ts'
import { createClock, startKit, times } from '../support/deployment/deployment.ts'

const digest = operation('policyDigest')
const report = operation('reportPosture')
const withoutId = ({ status, text }: ApiAnswer) => `${status} ${text.replace(/"request_id":"[^"]+"/, '')}`

test('a credential without its key, and a replayed or altered proof, get the same 401', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  const other = await enrollRaw(kit, token, 'other')
  const now = new Date()
  const url = kit.publicUrl + digest.path
  const proof = (more: Partial<Parameters<typeof createProof>[1]> = {}, key = device.key) =>
    createProof(key, { method: 'GET', url, accessToken: device.credential, now, ...more })
  const authorization = `Bearer ${device.credential}`
  const attempts: Record<string, Record<string, string>> = {
    'no proof': { authorization },
    'a proof by another key': { authorization, dpop: proof({}, generateKey('ES256').privateJwk) },
    "another device's proof": { authorization, dpop: proof({ accessToken: other.credential }, other.key) },
    'a proof for another method': { authorization, dpop: proof({ method: 'POST' }) },
    'a proof for another URL': { authorization, dpop: proof({ url: kit.publicUrl + report.path }) },
    'a proof for another host': { authorization, dpop: proof({ url: `http://127.0.0.1${digest.path}` }) },
    'a proof for another credential': { authorization, dpop: proof({ accessToken: other.credential }) },
    'a proof from an hour ago': { authorization, dpop: proof({ now: new Date(now.getTime() - 3_600_000) }) },
    'a proof from the future': { authorization, dpop: proof({ now: new Date(now.getTime() + 65_000) }) },
    'a proof that is none': { authorization, dpop: 'nonsense' },
    'two proofs': { authorization, dpop: `${proof()}, ${proof()}` },
    'a bent credential': {
      authorization: `${authorization.slice(0, -3)}${authorization.endsWith('AAA') ? 'BBA' : 'AAA'}`,
      dpop: proof(),
    },
  }
  const answers = new Set<string>()
  for (const [what, headers] of Object.entries(attempts)) {
    const answer = await sendToKit(kit, 'GET', digest.path, headers)
    assert.equal(answer.status, 401, what)
    answers.add(withoutId(answer))
  }
  assert.equal(answers.size, 1, [...answers].join('\n'))
  assert.equal((await sendToKit(kit, 'GET', digest.path, { authorization, dpop: proof() })).status, 200)
})

test('a proof counts once: for reads on its replica, for changes on all, of twenty at once', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  const [first, second] = kit.replicas
  const read = device.caller('GET', kit.publicUrl + digest.path)
  assert.equal((await sendToKit(kit, 'GET', digest.path, read)).status, 200)
  assert.equal((await sendToKit(kit, 'GET', digest.path, read)).status, 401)

  const change = { 'content-type': 'application/json', ...device.caller('POST', kit.publicUrl + report.path) }
  const body = JSON.stringify({ facts: { 'disk.encrypted': true } })
  const statuses = await times(
    20,
    async (i) => (await sendToKit({ ...kit, ...(i % 2 ? first! : second!) }, 'POST', report.path, change, body)).status,
  )
  assert.deepEqual(statuses.filter((s) => s === 200).length, 1, String(statuses))
  assert.ok(statuses.every((s) => s === 200 || s === 401))
})

test('a renewal gives a new generation and key, once of twenty; the old one works until the new is used', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  const renew = operation('renewCredential')
  const { privateJwk } = generateKey('ES256')
  const renewWith = () => {
    const url = kit.publicUrl + renew.path
    const newProof = createProof(privateJwk, { method: 'POST', url, accessToken: device.credential, now: new Date() })
    const { d: _, ...publicJwk } = privateJwk
    return call(kit, renew, (m, u) => ({ ...device.caller(m, u), 'dpop-new-key': newProof }), {
      new_public_key: publicJwk,
    })
  }
  const answers = await times(20, renewWith)
  const renewed = answers.filter((a) => a.status === 200)
  assert.ok(renewed.length >= 1, answers[0]!.text)
  assert.ok(
    answers.every((a) => a.status === 200 || a.status === 422),
    answers.map((a) => a.status).join(),
  )
  const fresh = deviceCaller(String(renewed.at(-1)!.json.credential), privateJwk)

  assert.equal(
    (await call(kit, digest, device.caller)).status,
    200,
    'the old generation works until the new one is used',
  )
  assert.equal(
    (await call(kit, digest, deviceCaller(String(renewed[0]!.json.credential), device.key))).status,
    401,
    'the old key no longer fits',
  )
  assert.equal((await call(kit, digest, fresh)).status, 200)
  assert.equal((await call(kit, digest, device.caller)).status, 401, 'the old generation ended')
  assert.equal((await call(kit, digest, fresh)).status, 200)
})

test('a suspended or revoked device, or one of a suspended user, is refused at once', async (t) => {
  const kit = await startKit(t)
  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0, user_id: user.user_id } })
  const device = await enrollRaw(kit, token)
  const status = async () => (await call(kit, digest, device.caller)).status
  assert.equal(await status(), 200)
  for (const [operationName, expected] of [
    ['suspend', 401],
    ['reactivate', 200],
  ] as const) {
    await kit.admin.changeDevice({ body: { operation: operationName, device_id: device.id } })
    assert.equal(await status(), expected, operationName)
  }
  await kit.admin.changeUser({ body: { operation: 'suspend', user_id: user.user_id } })
  assert.equal(await status(), 401, 'user suspended')
  await kit.admin.changeUser({ body: { operation: 'reactivate', user_id: user.user_id } })
  assert.equal(await status(), 200, 'user reactivated')
  const outcomes = await times(20, () =>
    kit.admin.changeDevice({ body: { operation: 'revoke', device_id: device.id } }),
  )
  assert.equal(outcomes.filter((o) => o.changed).length, 1, 'one of twenty revocations moved it')
  assert.equal(await status(), 401, 'revoked')
  const events = await kit.admin.listAuditEvents({ query: { kind: 'device.changed', target_id: device.id } })
  assert.equal(events.items.filter((e) => (e as Record<string, unknown>).operation === 'revoke').length, 1)
  await assert.rejects(
    kit.admin.changeDevice({ body: { operation: 'reactivate', device_id: device.id } }),
    /revoked, and this is final/,
  )
})

test('a device with its key is told its status even on 401; a credential without the key is not', async (t) => {
  const kit = await startKit(t)
  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
  const token = await kit.admin.generateToken({
    body: { max_uses: 0, user_id: user.user_id, requires_approval: true },
  })
  const device = await enrollRaw(kit, token.secret)
  const move = (name: 'approve' | 'suspend' | 'reactivate' | 'revoke') =>
    kit.admin.changeDevice({ body: { operation: name, device_id: device.id } })
  const reads = [digest, operation('gatewayPools'), report]
  const told = async (caller = device.caller) => {
    const answers = new Set<string>()
    for (const one of reads) {
      const { status, headers } = await call(kit, one, caller, one === report ? { facts: {} } : undefined)
      answers.add(`${status} ${headers['holdfast-device-status']}`)
    }
    return [...answers]
  }
  const thief = deviceCaller(device.credential, generateKey('ES256').privateJwk)
  const silence = ['401 undefined']

  assert.deepEqual(await told(), ['200 pending'])
  await move('approve')
  assert.deepEqual(await told(), ['200 undefined'])
  assert.deepEqual(await told(thief), silence)
  await move('suspend')
  assert.deepEqual([await told(), await told(thief)], [['401 suspended'], silence])
  await move('reactivate')
  assert.deepEqual(await told(), ['200 undefined'])
  await kit.admin.suspendUser({ body: { user_id: user.user_id } })
  assert.deepEqual([await told(), await told(thief)], [['401 suspended'], silence])
  await kit.admin.reactivateUser({ body: { user_id: user.user_id } })
  await move('revoke')
  assert.deepEqual([await told(), await told(thief)], [['401 revoked'], silence])
  assert.deepEqual(await told(), ['401 revoked'])
})

test('a proof by a clock one minute ahead is accepted once, for its whole validity', async (t) => {
  const clock = createClock(-55_000)
  const kit = await startKit(t, { now: clock.now })
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const { privateJwk } = generateKey('ES256')
  const proofOf = (method: string, path: string, accessToken: string) =>
    createProof(privateJwk, { method, url: kit.publicUrl + path, accessToken, now: new Date() })
  const json = { 'content-type': 'application/json' }
  const { path } = operation('enroll')
  const enrolling = { ...json, authorization: `Bearer ${token}`, dpop: proofOf('POST', path, token) }
  const enroll = () => sendToKit(kit, 'POST', path, enrolling, '{"device":{"name":"ahead","platform":"linux"}}')
  const enrolled = await enroll()
  assert.equal(enrolled.status, 201, enrolled.text)
  const credential = String(enrolled.json.credential)
  const authorization = `Bearer ${credential}`
  const shown = { authorization, dpop: proofOf('GET', digest.path, credential) }
  const reported = { ...json, authorization, dpop: proofOf('POST', report.path, credential) }
  const again = async () => [
    (await enroll()).status,
    (await sendToKit(kit, 'GET', digest.path, shown)).status,
    (await sendToKit(kit, 'POST', report.path, reported, '{"facts":{}}')).status,
  ]
  assert.deepEqual((await again()).slice(1), [200, 200])
  assert.deepEqual(await again(), [401, 401, 401])
  clock.advance(110)
  assert.deepEqual(await again(), [401, 401, 401], 'it is still of the last minute, and is remembered')
  const refused = await enroll()
  assert.ok(Math.abs(Date.parse(String(refused.headers.date)) - Date.now()) < 60_000, 'the refusal bears the time')
})
