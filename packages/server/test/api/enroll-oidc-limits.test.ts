import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { enrollmentNonce, thumbprint } from '@holdfast/crypto'
import { changeSecuritySettings } from '@holdfast/sdk'
import { times } from '../kit.ts'
import { attempt, challengeOf, fresh, newKey, reasons, start, tokenFor } from '../oidc-enrollment.ts'

test('a challenge enrolls one device, of twenty that come with it to two replicas; a lost answer is given again', async (t) => {
  const w = await start(t)
  const challenge = await challengeOf(w)
  const key = newKey()
  const answers = await times(20, (i) =>
    attempt(w, { challenge, key: i % 2 ? key : newKey(), on: { ...w.kit, ...w.kit.replicas[i % 2]! } }),
  )
  const statuses = answers.map((a) => a.status)
  assert.equal(statuses.filter((s) => s === 201).length, 1, statuses.join())
  assert.ok(
    statuses.every((s) => s === 201 || s === 401),
    statuses.join(),
  )
  assert.equal((await w.kit.admin.listDevices()).items.length, 1)
  const spent = answers.find((a) => a.status === 401)!
  assert.deepEqual(await reasons(w, spent), ['challenge_spent'])

  const another = { challenge: await challengeOf(w), key: newKey(), headers: { 'idempotency-key': 'once' } }
  const id_token = await tokenFor(w, { nonce: enrollmentNonce(another.challenge, thumbprint(another.key)) })
  const first = await attempt(w, { ...another, body: { id_token } })
  assert.equal(first.status, 201, first.text)
  const repeated = await attempt(w, { ...another, body: { id_token } })
  assert.deepEqual([repeated.status, repeated.json], [201, first.json])
  assert.equal((await attempt(w, { ...another, key: newKey(), body: { id_token } })).status, 422, 'to no other key')
})

test('what the provider and the tenant say of devices holds: approval, how many, users of its making', async (t) => {
  const w = await start(t)
  const { kit, provider } = w
  const { provider_id } = provider
  const more = { requires_approval: true, max_devices_per_user: 1, provisioning: 'create' } as const
  await kit.admin.updateIdentityProvider({ params: { provider_id }, body: { ...provider, ...more, linked_users: 1 } })
  const claims = { sub: 'sub-of-eve', preferred_username: 'eve' }
  const first = await fresh(w, { claims })
  assert.deepEqual([first.status, first.json.status], [201, 'pending'], first.text)
  const made = await kit.admin.getUser({ params: { user_id: String(first.json.user_id) } })
  assert.deepEqual([made.username, made.source, made.roles], ['eve', 'sso', []])
  const second = await fresh(w, { claims })
  assert.deepEqual([second.status, second.json.error], [409, 'entitlement_exceeded'])
  const taken = await fresh(w, { claims: { sub: 'another', preferred_username: 'ada' } })
  assert.deepEqual([taken.status, await reasons(w, taken)], [401, ['username_taken']], 'a name links nobody')
})

test('a provider that is down is a 401 at once, and nothing is half done', async (t) => {
  const w = await start(t)
  const challenge = await challengeOf(w)
  const key = newKey()
  const id_token = await tokenFor(w, { nonce: enrollmentNonce(challenge, thumbprint(key)) })
  for (const path of ['/.well-known/openid-configuration', '/keys'])
    w.idp.answers.set(path, (_, response) => void response.socket?.destroy())
  const second = w.kit.replicas[1]!
  const began = performance.now()
  const answers = await times(10, () => attempt(w, { challenge, key, body: { id_token }, on: { ...w.kit, ...second } }))
  assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([401]))
  assert.ok(performance.now() - began < 6000, 'ten share one look')
  assert.deepEqual(await reasons(w, answers[0]!), ['unreachable'])
  assert.deepEqual((await w.kit.admin.listDevices()).items, [])
  const other = await attempt(w, { challenge, key, body: { id_token } })
  assert.equal(other.status, 201, 'the replica that has its keys needs it no more, and the challenge was not spent')
})

test('tries of one address are bounded as failed sign-ins are, and no other address is held to it', async (t) => {
  const w = await start(t)
  await changeSecuritySettings(w.kit.admin, { login: { max_failures_per_ip: 20, window_seconds: 900 } })
  const challenge = await challengeOf(w)
  const statuses: number[] = []
  for (let i = 0; i < 14; i++)
    statuses.push(
      (await attempt(w, { challenge, key: newKey(), body: { id_token: randomBytes(9).toString('hex') } })).status,
    )
  assert.deepEqual(statuses.slice(0, 10), Array(10).fill(401))
  assert.deepEqual(statuses.at(-1), 429)
  const told = await attempt(w, { challenge, key: newKey() })
  assert.equal(told.status, 429)
  assert.ok(Number(told.headers['retry-after']) > 0)
  const [event] = (await w.kit.admin.listAuditEvents({ query: { kind: 'auth.throttled' } })).items
  assert.equal(event && 'credential' in event && event.credential, 'id_token')
})
