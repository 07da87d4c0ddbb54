import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { enrollmentNonce, thumbprint } from '@holdfast/crypto'
import { changeIdentityProvider, changeSecuritySettings } from '@holdfast/sdk'
import {
  attemptEnrollment,
  attemptWithNewChallenge,
  idTokenFor,
  newChallenge,
  newDeviceKey,
  refusalReasons,
  startOidcEnrollment,
} from '../support/actors/oidc-enrollment.ts'
import { dispatcherTo, times } from '../support/deployment/deployment.ts'
import { deliveryLimitMs } from '../support/deployment/wait-until.ts'

const discovery = '/.well-known/openid-configuration'

test('limits of an enrollment by a provider', async (t) => {
  const w = await startOidcEnrollment(t)
  const { kit } = w
  const params = { provider_id: w.provider.provider_id }
  const set = (named: Parameters<typeof changeIdentityProvider>[2]) =>
    changeIdentityProvider(kit.admin, { params }, named)

  await t.test('a challenge enrolls one of twenty devices on two replicas, and a lost answer is repeated', async () => {
    const challenge = await newChallenge(w)
    const key = newDeviceKey()
    const answers = await times(20, (i) =>
      attemptEnrollment(w, { challenge, key: i % 2 ? key : newDeviceKey(), on: { ...kit, ...kit.replicas[i % 2]! } }),
    )
    const statuses = answers.map((a) => a.status)
    assert.equal(statuses.filter((s) => s === 201).length, 1, statuses.join())
    assert.ok(
      statuses.every((s) => s === 201 || s === 401),
      statuses.join(),
    )
    assert.equal((await kit.admin.listDevices()).items.length, 1)
    const spent = answers.find((a) => a.status === 401)!
    assert.deepEqual(await refusalReasons(kit.admin, spent), ['challenge_spent'])

    const another = { challenge: await newChallenge(w), key: newDeviceKey(), headers: { 'idempotency-key': 'once' } }
    const id_token = await idTokenFor(w, { nonce: enrollmentNonce(another.challenge, thumbprint(another.key)) })
    const first = await attemptEnrollment(w, { ...another, body: { id_token } })
    assert.equal(first.status, 201, first.text)
    const repeated = await attemptEnrollment(w, { ...another, body: { id_token } })
    assert.deepEqual([repeated.status, repeated.json], [201, first.json])
    assert.equal(
      (await attemptEnrollment(w, { ...another, key: newDeviceKey(), body: { id_token } })).status,
      422,
      'to no other key',
    )
  })

  await t.test('a refused enrollment leaves no user and no link, and its challenge can be used again', async () => {
    await set({ provisioning: 'create' })
    const key = newDeviceKey()
    assert.equal((await attemptWithNewChallenge(w, { key })).status, 201)
    const challenge = await newChallenge(w)
    const claims = { sub: 'sub-of-kim', preferred_username: 'kim' }
    const second = { challenge, claims, on: { ...kit, ...kit.replicas[1]! } }
    const answers = await times(4, () => attemptEnrollment(w, { ...second, key }))
    assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([422]), 'the key is of another device')
    const kim = async () => (await kit.admin.listUsers({ query: { q: 'kim' } })).items
    assert.deepEqual(await kim(), [])
    assert.equal((await kit.admin.getIdentityProvider({ params })).linked_users, 1)
    const created = await kit.admin.listAuditEvents({ query: { kind: 'user.changed' } })
    assert.ok(!created.items.some((e) => e.target?.name === 'kim'), 'nor does the record tell of one')

    const others = await times(4, (i) =>
      attemptEnrollment(w, { ...second, key: newDeviceKey(), on: { ...kit, ...kit.replicas[i % 2]! } }),
    )
    assert.deepEqual(others.map((a) => a.status).toSorted(), [201, ...Array(3).fill(401)])
    assert.equal((await kim()).length, 1)
  })

  await t.test(
    'failed enrollments of one address are counted across replicas by the settings; successful ones are not',
    async () => {
      w.clock.advance(901)
      await changeSecuritySettings(kit.admin, { login: { max_failures_per_ip: 5, window_seconds: 900 } })
      const good = await times(6, () => attemptWithNewChallenge(w))
      assert.deepEqual(new Set(good.map((a) => a.status)), new Set([201]), 'many at once from one address')
      const challenge = await newChallenge(w)
      const bad = (n: number) =>
        attemptEnrollment(w, {
          challenge,
          key: newDeviceKey(),
          body: { id_token: randomBytes(9).toString('hex') },
          on: { ...kit, ...kit.replicas[n % 2]! },
        })
      const statuses: number[] = []
      for (let i = 0; i < 6; i++) statuses.push((await bad(i)).status)
      assert.deepEqual(statuses, [...Array(5).fill(401), 429])
      const told = await attemptEnrollment(w, { challenge, key: newDeviceKey() })
      assert.equal(told.status, 429)
      assert.ok(Number(told.headers['retry-after']) > 800)
      const elsewhere = dispatcherTo(kit.url, '127.0.0.2')
      kit.after(() => elsewhere.destroy())
      const from = { publicUrl: kit.publicUrl, dispatcher: elsewhere }
      assert.equal(
        (await attemptEnrollment(w, { challenge, key: newDeviceKey(), on: from })).status,
        201,
        'from another address',
      )
      w.clock.advance(901)
      assert.equal((await attemptWithNewChallenge(w)).status, 201)
      const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'auth.throttled' } })).items
      assert.equal(event && 'credential' in event && event.credential, 'id_token')
    },
  )

  await t.test('approval, device limits and provisioning of provider and tenant apply', async () => {
    await set({ requires_approval: true, max_devices_per_user: 1, provisioning: 'create' })
    const claims = { sub: 'sub-of-eve', preferred_username: 'eve' }
    const first = await attemptWithNewChallenge(w, { claims })
    assert.deepEqual([first.status, first.json.status], [201, 'pending'], first.text)
    const made = await kit.admin.getUser({ params: { user_id: String(first.json.user_id) } })
    assert.deepEqual([made.username, made.source, made.roles], ['eve', 'sso', []])
    const second = await attemptWithNewChallenge(w, { claims })
    assert.deepEqual([second.status, second.json.error], [409, 'entitlement_exceeded'])
    assert.equal(made.last_login_at, null, 'an enrollment is no sign-in')
    const { items: links } = await kit.admin.listUserIdentities({ params: { user_id: made.user_id } })
    assert.deepEqual([links.length, links[0]?.last_login_at], [1, null])
    const { items: found } = await kit.admin.listDevices({ query: { ...params, status: 'pending', sort: 'name' } })
    assert.deepEqual(
      found.map((d) => d.device_id),
      [first.json.device_id],
    )
    const taken = await attemptWithNewChallenge(w, { claims: { sub: 'another', preferred_username: 'ada' } })
    assert.deepEqual(
      [taken.status, await refusalReasons(kit.admin, taken)],
      [401, ['username_taken']],
      'a name links nobody',
    )
  })
})

test('an unreachable provider gives a 401 at once and changes nothing', async (t) => {
  const w = await startOidcEnrollment(t)
  const challenge = await newChallenge(w)
  const key = newDeviceKey()
  const id_token = await idTokenFor(w, { nonce: enrollmentNonce(challenge, thumbprint(key)) })
  for (const path of [discovery, '/keys']) w.idp.answers.set(path, (_, response) => void response.socket?.destroy())
  const second = w.kit.replicas[1]!
  const before = w.idp.hitsOf(discovery)
  const began = performance.now()
  const answers = await times(10, () =>
    attemptEnrollment(w, { challenge, key, body: { id_token }, on: { ...w.kit, ...second } }),
  )
  assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([401]))
  assert.ok(performance.now() - began < deliveryLimitMs)
  // The failure is cached for five seconds.
  assert.ok(w.idp.hitsOf(discovery) - before <= 2, 'ten share one look')
  assert.deepEqual(await refusalReasons(w.kit.admin, answers[0]!), ['unreachable'])
  assert.deepEqual((await w.kit.admin.listDevices()).items, [])
  const other = await attemptEnrollment(w, { challenge, key, body: { id_token } })
  assert.equal(other.status, 201, 'the replica that has its keys needs it no more, and the challenge was not spent')
})
