import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { enrollmentNonce, thumbprint } from '@holdfast/crypto'
import { changeIdentityProvider, changeSecuritySettings } from '@holdfast/sdk'
import { attempt, challengeOf, fresh, newKey, reasons, start, tokenFor } from '../support/actors/oidc-enrollment.ts'
import { dispatcherTo, times } from '../support/deployment/deployment.ts'
import { promptly } from '../support/deployment/wait-until.ts'

const discovery = '/.well-known/openid-configuration'

test('an enrollment by a provider happens once, within what was set, and counts as it should', async (t) => {
  const w = await start(t)
  const { kit } = w
  const params = { provider_id: w.provider.provider_id }
  const set = (named: Parameters<typeof changeIdentityProvider>[2]) =>
    changeIdentityProvider(kit.admin, { params }, named)

  await t.test(
    'a challenge enrolls one device, of twenty that come with it to two replicas; a lost answer is given again',
    async () => {
      const challenge = await challengeOf(w)
      const key = newKey()
      const answers = await times(20, (i) =>
        attempt(w, { challenge, key: i % 2 ? key : newKey(), on: { ...kit, ...kit.replicas[i % 2]! } }),
      )
      const statuses = answers.map((a) => a.status)
      assert.equal(statuses.filter((s) => s === 201).length, 1, statuses.join())
      assert.ok(
        statuses.every((s) => s === 201 || s === 401),
        statuses.join(),
      )
      assert.equal((await kit.admin.listDevices()).items.length, 1)
      const spent = answers.find((a) => a.status === 401)!
      assert.deepEqual(await reasons(kit.admin, spent), ['challenge_spent'])

      const another = { challenge: await challengeOf(w), key: newKey(), headers: { 'idempotency-key': 'once' } }
      const id_token = await tokenFor(w, { nonce: enrollmentNonce(another.challenge, thumbprint(another.key)) })
      const first = await attempt(w, { ...another, body: { id_token } })
      assert.equal(first.status, 201, first.text)
      const repeated = await attempt(w, { ...another, body: { id_token } })
      assert.deepEqual([repeated.status, repeated.json], [201, first.json])
      assert.equal((await attempt(w, { ...another, key: newKey(), body: { id_token } })).status, 422, 'to no other key')
    },
  )

  await t.test(
    'who is refused leaves nothing: no user, no link, and the challenge is good for another try',
    async () => {
      await set({ provisioning: 'create' })
      const key = newKey()
      assert.equal((await fresh(w, { key })).status, 201)
      const challenge = await challengeOf(w)
      const claims = { sub: 'sub-of-kim', preferred_username: 'kim' }
      const second = { challenge, claims, on: { ...kit, ...kit.replicas[1]! } }
      const answers = await times(4, () => attempt(w, { ...second, key }))
      assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([422]), 'the key is of another device')
      const kim = async () => (await kit.admin.listUsers({ query: { q: 'kim' } })).items
      assert.deepEqual(await kim(), [])
      assert.equal((await kit.admin.getIdentityProvider({ params })).linked_users, 1)
      const created = await kit.admin.listAuditEvents({ query: { kind: 'user.changed' } })
      assert.ok(!created.items.some((e) => e.target?.name === 'kim'), 'nor does the record tell of one')

      const others = await times(4, (i) =>
        attempt(w, { ...second, key: newKey(), on: { ...kit, ...kit.replicas[i % 2]! } }),
      )
      assert.deepEqual(others.map((a) => a.status).toSorted(), [201, ...Array(3).fill(401)])
      assert.equal((await kim()).length, 1)
    },
  )

  await t.test(
    'failures of one address are counted on all replicas together, as the settings say; what succeeds is not',
    async () => {
      w.clock.advance(901)
      await changeSecuritySettings(kit.admin, { login: { max_failures_per_ip: 5, window_seconds: 900 } })
      const good = await times(6, () => fresh(w))
      assert.deepEqual(new Set(good.map((a) => a.status)), new Set([201]), 'many at once from one address')
      const challenge = await challengeOf(w)
      const bad = (n: number) =>
        attempt(w, {
          challenge,
          key: newKey(),
          body: { id_token: randomBytes(9).toString('hex') },
          on: { ...kit, ...kit.replicas[n % 2]! },
        })
      const statuses: number[] = []
      for (let i = 0; i < 6; i++) statuses.push((await bad(i)).status)
      assert.deepEqual(statuses, [...Array(5).fill(401), 429])
      const told = await attempt(w, { challenge, key: newKey() })
      assert.equal(told.status, 429)
      assert.ok(Number(told.headers['retry-after']) > 800)
      const elsewhere = dispatcherTo(kit.url, '127.0.0.2')
      kit.after(() => elsewhere.destroy())
      const from = { publicUrl: kit.publicUrl, dispatcher: elsewhere }
      assert.equal((await attempt(w, { challenge, key: newKey(), on: from })).status, 201, 'from another address')
      w.clock.advance(901)
      assert.equal((await fresh(w)).status, 201)
      const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'auth.throttled' } })).items
      assert.equal(event && 'credential' in event && event.credential, 'id_token')
    },
  )

  await t.test(
    'what the provider and the tenant say of devices holds: approval, how many, users of its making',
    async () => {
      await set({ requires_approval: true, max_devices_per_user: 1, provisioning: 'create' })
      const claims = { sub: 'sub-of-eve', preferred_username: 'eve' }
      const first = await fresh(w, { claims })
      assert.deepEqual([first.status, first.json.status], [201, 'pending'], first.text)
      const made = await kit.admin.getUser({ params: { user_id: String(first.json.user_id) } })
      assert.deepEqual([made.username, made.source, made.roles], ['eve', 'sso', []])
      const second = await fresh(w, { claims })
      assert.deepEqual([second.status, second.json.error], [409, 'entitlement_exceeded'])
      assert.equal(made.last_login_at, null, 'who enrolls a device does not sign in')
      const { items: links } = await kit.admin.listUserIdentities({ params: { user_id: made.user_id } })
      assert.deepEqual([links.length, links[0]?.last_login_at], [1, null])
      const { items: found } = await kit.admin.listDevices({ query: { ...params, status: 'pending', sort: 'name' } })
      assert.deepEqual(
        found.map((d) => d.device_id),
        [first.json.device_id],
      )
      const taken = await fresh(w, { claims: { sub: 'another', preferred_username: 'ada' } })
      assert.deepEqual(
        [taken.status, await reasons(kit.admin, taken)],
        [401, ['username_taken']],
        'a name links nobody',
      )
    },
  )
})

test('a provider that is down is a 401 at once, and nothing is half done', async (t) => {
  const w = await start(t)
  const challenge = await challengeOf(w)
  const key = newKey()
  const id_token = await tokenFor(w, { nonce: enrollmentNonce(challenge, thumbprint(key)) })
  for (const path of [discovery, '/keys']) w.idp.answers.set(path, (_, response) => void response.socket?.destroy())
  const second = w.kit.replicas[1]!
  const before = w.idp.hitsOf(discovery)
  const began = performance.now()
  const answers = await times(10, () => attempt(w, { challenge, key, body: { id_token }, on: { ...w.kit, ...second } }))
  assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([401]))
  assert.ok(performance.now() - began < promptly)
  // The failure is cached for five seconds.
  assert.ok(w.idp.hitsOf(discovery) - before <= 2, 'ten share one look')
  assert.deepEqual(await reasons(w.kit.admin, answers[0]!), ['unreachable'])
  assert.deepEqual((await w.kit.admin.listDevices()).items, [])
  const other = await attempt(w, { challenge, key, body: { id_token } })
  assert.equal(other.status, 201, 'the replica that has its keys needs it no more, and the challenge was not spent')
})
