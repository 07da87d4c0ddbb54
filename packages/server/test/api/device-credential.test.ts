import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { contract, Input } from '@holdfast/contract'
import { createProof, generateKey } from '@holdfast/crypto'
import { sql } from 'kysely'
import pg from 'pg'
import type { Tx } from '../../src/db/database.ts'
import { addressCapacity } from '../../src/modules/devices/index.ts'
import { type Kit, startKit, times } from '../kit.ts'
import { bearer, call, deviceCaller, enrollRaw, operation, type Raw, send } from '../world.ts'

const digest = operation('policyDigest')
const report = operation('reportPosture')
const withoutId = ({ status, text }: Raw) => `${status} ${text.replace(/"request_id":"[^"]+"/, '')}`

test('whoever steals a credential without its key, or replays or bends a proof, gets the same 401', async (t) => {
  const kit = await startKit(t)
  const { token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
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
    'a proof from the future': { authorization, dpop: proof({ now: new Date(now.getTime() + 60_000) }) },
    'a proof that is none': { authorization, dpop: 'nonsense' },
    'two proofs': { authorization, dpop: `${proof()}, ${proof()}` },
    'a bent credential': {
      authorization: `${authorization.slice(0, -3)}${authorization.endsWith('AAA') ? 'BBA' : 'AAA'}`,
      dpop: proof(),
    },
  }
  const answers = new Set<string>()
  for (const [what, headers] of Object.entries(attempts)) {
    const answer = await send(kit, 'GET', digest.path, headers)
    assert.equal(answer.status, 401, what)
    answers.add(withoutId(answer))
  }
  assert.equal(answers.size, 1, [...answers].join('\n'))
  assert.equal((await send(kit, 'GET', digest.path, { authorization, dpop: proof() })).status, 200)
})

test('a proof counts once: on a read for this replica, on a change for all of them, twenty at a time', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  const [first, second] = kit.replicas
  const read = device.caller('GET', kit.publicUrl + digest.path)
  assert.equal((await send(kit, 'GET', digest.path, read)).status, 200)
  assert.equal((await send(kit, 'GET', digest.path, read)).status, 401)

  const change = { 'content-type': 'application/json', ...device.caller('POST', kit.publicUrl + report.path) }
  const body = JSON.stringify({ facts: { 'disk.encrypted': true } })
  const statuses = await times(
    20,
    async (i) => (await send({ ...kit, ...(i % 2 ? first! : second!) }, 'POST', report.path, change, body)).status,
  )
  assert.deepEqual(statuses.filter((s) => s === 200).length, 1, String(statuses))
  assert.ok(statuses.every((s) => s === 200 || s === 401))
})

test('renewal: a new generation and key, the old one until the new is used, once of twenty at a time', async (t) => {
  const kit = await startKit(t)
  const { token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
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

test('an enrollment token is used as often as it says, however many devices come at once', async (t) => {
  const kit = await startKit(t)
  const { token, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 5 } })
  const outcomes = await times(20, (i) =>
    enrollRaw(kit, token, `d${i}`).then(
      () => 'enrolled',
      (e: Error) => e.message.slice(0, 23),
    ),
  )
  assert.equal(outcomes.filter((o) => o === 'enrolled').length, 5)
  assert.ok(
    outcomes.every((o) => o === 'enrolled' || o.endsWith('401')),
    outcomes.join(),
  )
  const after = await kit.admin.getToken({ params: { token_id: enrollment_token.token_id } })
  assert.deepEqual([after.uses, after.status], [5, 'exhausted'])
  assert.equal((await kit.admin.listDevices()).items.length, 5)
  const numbers = new Set((await kit.admin.listDevices()).items.map((d) => d.addresses.ipv4))
  assert.equal(numbers.size, 5, 'each device has its own address')
})

/** Many at once on all replicas in turn, each with the given token and, unless given, a key of its own. */
const enrollMany = (
  kit: Kit,
  n: number,
  tokenOf: (i: number) => string,
  keyOf = () => generateKey('ES256').privateJwk,
) =>
  times(n, (i) =>
    call(
      { ...kit, ...kit.replicas[i % kit.replicas.length]! },
      operation('enroll'),
      deviceCaller(tokenOf(i), keyOf()),
      { device: { name: `laptop-${i}`, platform: 'linux' } },
    ),
  )
const countOf = (answers: Raw[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
const devicesOf = (kit: Kit) =>
  kit.db.inTenant(kit.tenant, (tx) =>
    tx.selectFrom('devices').select(['device_id', 'name', 'address_number', 'token_id']).execute(),
  )
const usesOf = async (kit: Kit, token: { token_id: string }) =>
  (await kit.admin.getToken({ params: { token_id: token.token_id } })).uses

test('two hundred enrollments at once on two replicas: each its device, its address, its use, its record', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { token, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const answers = await enrollMany(kit, 200, () => token)
  assert.deepEqual(countOf(answers), { 201: 200 })
  const devices = await devicesOf(kit)
  assert.equal(devices.length, 200)
  assert.equal(new Set(devices.map((d) => d.address_number)).size, 200, 'each device has its own address')
  assert.equal(Math.max(...devices.map((d) => d.address_number)), 200, 'no address is left out')
  assert.equal(await usesOf(kit, enrollment_token), 200)
  const events = await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .selectFrom('audit_events')
      .select(['target_id', 'target_name', 'request_id', 'actor_id'])
      .where('kind', '=', 'device.enrolled')
      .execute(),
  )
  assert.deepEqual(
    new Set(events.map((e) => `${e.target_id} ${e.target_name} ${e.request_id} ${e.actor_id}`)),
    new Set(
      answers.map(
        (a, i) => `${a.json.device_id} laptop-${i} ${a.headers['x-request-id']} ${enrollment_token.token_id}`,
      ),
    ),
    'each event says which request made which device',
  )
  assert.equal(events.length, 200)
  const sample = answers[100]!
  const { name } = await kit.admin.getDevice({ params: { device_id: String(sample.json.device_id) } })
  assert.equal(name, 'laptop-100')
})

test('tokens mixed in the same rush: the one with five uses gives five, the others are not held up by it', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const limited = await kit.admin.generateToken({ body: { max_uses: 5 } })
  const open = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const revoked = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const tokens = [limited, limited, open, open, revoked, revoked]
  await kit.admin.revokeToken({ params: { token_id: revoked.enrollment_token.token_id } })
  const answers = await enrollMany(kit, 60, (i) => tokens[i % 6]!.token)
  const of = (token: typeof open) => countOf(answers.filter((_, i) => tokens[i % 6] === token))
  assert.deepEqual([of(limited), of(open), of(revoked)], [{ 201: 5, 401: 15 }, { 201: 20 }, { 401: 20 }])
  assert.equal(await usesOf(kit, limited.enrollment_token), 5)
  assert.equal(await usesOf(kit, open.enrollment_token), 20)
  assert.equal((await devicesOf(kit)).length, 25)
})

test('one key makes one device, however often and wherever it asks at once, and takes one use', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const first = await kit.admin.generateToken({ body: { max_uses: 2 } })
  const second = await kit.admin.generateToken({ body: { max_uses: 2 } })
  const { privateJwk } = generateKey('ES256')
  const sameKey = () => privateJwk
  const pair = await enrollMany(kit, 2, () => first.token, sameKey)
  assert.deepEqual(countOf(pair), { 201: 1, 422: 1 })
  assert.match(pair.find((a) => a.status === 422)!.text, /public_key: is the key of another device/)
  assert.equal(await usesOf(kit, first.enrollment_token), 1)

  const { privateJwk: other } = generateKey('ES256')
  const many = await enrollMany(
    kit,
    20,
    (i) => (i % 3 ? first : second).token,
    () => other,
  )
  assert.equal(countOf(many)[201], 1, JSON.stringify(countOf(many)))
  assert.equal((await usesOf(kit, first.enrollment_token)) + (await usesOf(kit, second.enrollment_token)), 2)
  assert.equal((await devicesOf(kit)).length, 2)

  await kit.admin.changeDevice({
    body: { operation: 'revoke', device_id: String(pair.find((a) => a.status === 201)!.json.device_id) },
  })
  assert.deepEqual(countOf(await enrollMany(kit, 1, () => second.token, sameKey)), { 201: 1 }, 'the key is free again')
})

test('a stolen enrollment request sent again at once, to both replicas, counts once', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { token, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const { method, path } = operation('enroll')
  const headers = {
    'content-type': 'application/json',
    ...deviceCaller(token, generateKey('ES256').privateJwk)(method, kit.publicUrl + path),
  }
  const body = JSON.stringify({ device: { name: 'laptop', platform: 'linux' } })
  const answers = await times(20, (i) => send({ ...kit, ...kit.replicas[i % 2]! }, method, path, headers, body))
  assert.deepEqual(countOf(answers), { 201: 1, 401: 19 })
  assert.equal(await usesOf(kit, enrollment_token), 1)
})

test('a user has no more devices than the token allows, however many come at once and by which token', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
  const terms = { max_uses: 0, user_id: user.user_id, max_devices_per_user: 3 }
  const tokens = [await kit.admin.generateToken({ body: terms }), await kit.admin.generateToken({ body: terms })]
  const answers = await enrollMany(kit, 10, (i) => tokens[i % 2]!.token)
  assert.deepEqual(countOf(answers), { 201: 3, 409: 7 })
  assert.match(answers.find((a) => a.status === 409)!.text, /entitlement_exceeded.*3 devices/)
  assert.equal((await devicesOf(kit)).length, 3)
  const uses = await Promise.all(tokens.map((made) => usesOf(kit, made.enrollment_token)))
  assert.equal(uses[0]! + uses[1]!, 3, 'who is refused takes no use')
})

test('the last addresses go to as many devices as there are', async (t) => {
  const kit = await startKit(t)
  const { token, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .updateTable('tenant_epochs')
      .set({ addresses: addressCapacity - 3 })
      .where('tenant_id', '=', kit.tenant)
      .execute(),
  )
  const answers = await enrollMany(kit, 10, () => token)
  assert.deepEqual(countOf(answers), { 201: 3, 409: 7 })
  assert.equal(Math.max(...(await devicesOf(kit)).map((d) => d.address_number)), addressCapacity)
  assert.equal(await usesOf(kit, enrollment_token), 3)
})

test('whoever enrolls with the key of a device that is just being revoked waits without holding up the tenant', async (t) => {
  const kit = await startKit(t)
  const { token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token)
  const isWaiting = async (tx: Tx) => {
    const { rows } = await sql`select from pg_locks join pg_stat_activity using (pid)
      where not granted and datname = current_database()`.execute(tx)
    return rows.length > 0
  }
  const answers = await kit.db.inTenant(kit.tenant, async (tx) => {
    await tx.updateTable('devices').set({ status: 'revoked', revoked_at: new Date() }).execute()
    const asked = enrollMany(
      kit,
      1,
      () => token,
      () => device.key,
    )
    const settled = asked.then(() => true)
    while (!(await isWaiting(tx)) && !(await Promise.race([settled, setTimeout(10, false)])));
    await tx.selectFrom('tenant_epochs').select('seq').forUpdate().execute()
    return () => asked
  })
  assert.deepEqual(countOf(await answers()), { 201: 1 })
})

test('a lost answer is asked for again under its Idempotency-Key: one device, the same credential', async (t) => {
  const kit = await startKit(t)
  const { token } = await kit.admin.generateToken({ body: {} })
  const { privateJwk } = generateKey('ES256')
  const caller = deviceCaller(token, privateJwk)
  const enroll = operation('enroll')
  const ask = (name = 'laptop') =>
    call(kit, enroll, (m, u) => ({ ...caller(m, u), 'idempotency-key': 'once' }), {
      device: { name, platform: 'linux' },
    })
  const first = await ask()
  const again = await ask()
  assert.equal(first.status, 201)
  assert.deepEqual([again.status, again.text, again.headers['idempotency-replayed']], [201, first.text, 'true'])
  assert.equal((await ask('another')).status, 422)
  assert.equal((await kit.admin.listDevices()).items.length, 1)
})

test('the terms of a token are kept: platform, address, approval, kind, revocation, expiry', async (t) => {
  const kit = await startKit(t)
  const attempt = async (terms: NonNullable<Input<typeof contract.generateToken>['body']>) => {
    const { token } = await kit.admin.generateToken({ body: terms })
    return enrollRaw(kit, token).then(
      (d) => d,
      (e: Error) => e.message,
    )
  }
  assert.match(String(await attempt({ platforms: ['windows'] })), /403.*windows/)
  assert.match(String(await attempt({ allowed_cidrs: ['203.0.113.0/24'] })), /403.*address/)
  assert.match(String(await attempt({ kind: 'bootstrap' })), /403.*bootstrap/)
  const waiting = await attempt({ requires_approval: true, tags: ['kiosk'] })
  assert.ok(typeof waiting === 'object')
  const pending = await kit.admin.getDevice({ params: { device_id: waiting.id } })
  assert.deepEqual([pending.status, pending.tags], ['pending', ['kiosk']])
  const { token, enrollment_token } = await kit.admin.generateToken({ body: {} })
  await kit.admin.revokeToken({ params: { token_id: enrollment_token.token_id } })
  assert.equal((await call(kit, operation('enroll'), bearer(token), {})).status, 401)
})

test('a device out of the fleet is out at once: suspended, revoked, its user suspended', async (t) => {
  const kit = await startKit(t)
  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
  const { token } = await kit.admin.generateToken({ body: { max_uses: 0, user_id: user.user_id } })
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
    /revoked, which is final/,
  )
})

test('an enrollment is two transactions: who asks, and what it makes', async (t) => {
  const kit = await startKit(t)
  const { token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  await enrollRaw(kit, token)
  let begun: string[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const [first] = given as readonly unknown[]
    if (typeof first === 'string' && first.startsWith('begin; ') && first.includes(kit.tenant)) begun.push(first)
    return Reflect.apply(query, this, given)
  } as typeof query
  t.after(() => {
    pg.Client.prototype.query = query
  })
  // What else goes on meanwhile may begin one too; not five times in a row.
  const counts: number[] = []
  for (let i = 0; i < 5; i++) {
    begun = []
    await enrollRaw(kit, token)
    counts.push(begun.length)
  }
  assert.equal(Math.min(...counts), 2, counts.join(' '))
})
