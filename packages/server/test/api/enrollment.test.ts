import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { contract, Input } from '@holdfast/contract'
import { generateKey, peekDeviceCredential } from '@holdfast/crypto'
import pg from 'pg'
import { bearer, call, deviceCaller, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { startKit, times } from '../support/deployment/deployment.ts'

test('an enrollment token is used as often as it says, however many devices come at once', async (t) => {
  const kit = await startKit(t)
  const { secret: token, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 5 } })
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

test('a device is told its overlay addresses as it enrolls and renews, signed in its credential', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const answers = await times(20, (i) => {
    const { privateJwk } = generateKey('ES256')
    const body = { device: { name: `d${i}`, platform: 'linux' } }
    return call(kit, operation('enroll'), deviceCaller(token, privateJwk), body).then((a) => ({ ...a, privateJwk }))
  })
  const shown = new Map((await kit.admin.listDevices()).items.map((d) => [d.device_id, d.addresses]))
  for (const { json } of answers) {
    assert.deepEqual(json.addresses, shown.get(String(json.device_id)))
    const { ipv4, ipv6 } = json.addresses as { ipv4: string; ipv6: string }
    assert.deepEqual(peekDeviceCredential(String(json.credential)).claims.addresses, [ipv4, ipv6])
  }
  const { json, privateJwk } = answers[0]!
  const renewed = await call(kit, operation('renewCredential'), deviceCaller(String(json.credential), privateJwk), {})
  assert.deepEqual(renewed.json.addresses, json.addresses)
  const { claims } = peekDeviceCredential(String(renewed.json.credential))
  assert.deepEqual([claims.gen, claims.addresses], [2, Object.values(json.addresses as object)])
})

test('a lost answer is asked for again under its Idempotency-Key: one device, the same credential', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: {} })
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
    const { secret: token } = await kit.admin.generateToken({ body: terms })
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
  const { secret: token, enrollment_token } = await kit.admin.generateToken({ body: {} })
  await kit.admin.revokeToken({ params: { token_id: enrollment_token.token_id } })
  assert.equal((await call(kit, operation('enroll'), bearer(token), {})).status, 401)
})

test('an enrollment by a token that was used before is one transaction', async (t) => {
  const kit = await startKit(t)
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  await enrollRaw(kit, token)
  /** The statements of each transaction that began. */
  let begun: string[][] = []
  const latest = new Map<pg.Client, string[]>()
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const [first] = given as readonly unknown[]
    const text = typeof first === 'string' ? first : String((first as { text?: string } | undefined)?.text)
    if (text.startsWith('begin; ')) {
      latest.set(this, [])
      if (text.includes(kit.tenant)) begun.push(latest.get(this)!)
    }
    latest.get(this)?.push(text)
    return Reflect.apply(query, this, given)
  } as typeof query
  t.after(() => {
    pg.Client.prototype.query = query
  })
  // Events of the previous enrollment get their sequence numbers meanwhile.
  const isOther = (statements: string[]) => statements.some((text) => text.includes('sequence_audit'))
  // Background work may also start a transaction, but not five times in a row.
  const counts: number[] = []
  for (let i = 0; i < 5; i++) {
    begun = []
    await enrollRaw(kit, token)
    counts.push(begun.filter((statements) => !isOther(statements)).length)
  }
  assert.equal(Math.min(...counts), 1, `${counts.join(' ')}: ${JSON.stringify(begun)}`)
})
