import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey } from '@holdfast/crypto'
import { bearer, call, deviceCaller, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { newWireguardKey } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

type Terms = NonNullable<Parameters<Kit['admin']['generateToken']>[0]>['body']
const tokenOf = async (kit: Kit, body: Terms = {}) => {
  const { secret, enrollment_token } = await kit.admin.generateToken({ body })
  return { secret, id: enrollment_token.token_id }
}
const tokenNow = (kit: Kit, token_id: string) => kit.admin.getToken({ params: { token_id } })
/** Waits until a token has this number of refusals, and returns the token. */
async function refusalsOf(kit: Kit, tokenId: string, count: number) {
  await until(async () => (await tokenNow(kit, tokenId)).attempts_refused >= count, `${count} refusals`)
  return tokenNow(kit, tokenId)
}
const device = { name: 'laptop', platform: 'linux' } as const
/** Presents a token with a proof of a new key. */
const tryOut = (kit: Kit, secret: string, body: object = { device }) =>
  call(kit, operation('enroll'), deviceCaller(secret, generateKey('ES256').privateJwk), body)

test('a token shows its newest use, why it was refused, and how often', async (t) => {
  const kit = await startKit(t)
  const fresh = await tokenOf(kit)
  const before = await tokenNow(kit, fresh.id)
  assert.deepEqual([before.last_attempt, before.attempts_refused], [null, 0])
  const key = generateKey('ES256').privateJwk
  const holder = await tokenOf(kit, { max_uses: 0 })
  await call(kit, operation('enroll'), deviceCaller(holder.secret, key), { device })

  /** The refusals: the request, its status, and the reason that administrators see. */
  const cases: [reason: string, status: number, attempt: () => Promise<{ id: string; status: number }>][] = []
  const refused = (
    reason: string,
    status: number,
    terms: Terms,
    ask: (secret: string) => Promise<{ status: number }>,
  ) =>
    cases.push([
      reason,
      status,
      async () => {
        const { id, secret } = await tokenOf(kit, terms)
        return { id, status: (await ask(secret)).status }
      },
    ])
  refused('wrong_platform', 403, { platforms: ['windows'] }, (s) => tryOut(kit, s))
  refused('address_not_allowed', 403, { allowed_cidrs: ['203.0.113.0/24'] }, (s) => tryOut(kit, s))
  refused('address_not_allowed', 403, { allowed_cidrs: ['203.0.113.0/24'] }, (s) =>
    call(kit, operation('listEnrollmentProviders'), bearer(s)),
  )
  refused('bootstrap_token', 403, { kind: 'bootstrap' }, (s) => tryOut(kit, s))
  refused('key_proof_missing', 422, {}, (s) => call(kit, operation('enroll'), bearer(s), { device }))
  refused('key_proof_invalid', 401, {}, (s) =>
    call(kit, operation('enroll'), () => ({ authorization: `Bearer ${s}`, dpop: 'no.proof.here' }), { device }),
  )
  refused('key_proof_invalid', 401, {}, (s) =>
    call(kit, operation('enroll'), (m, u) => ({ ...deviceCaller(s, key)(m, u), 'idempotency-key': 'k', dpop: 'x' }), {
      device,
    }),
  )
  refused('device_key_in_use', 422, {}, (s) => call(kit, operation('enroll'), deviceCaller(s, key), { device }))
  refused('invalid_request', 422, {}, (s) => tryOut(kit, s, { device: { name: 'laptop', platform: 'amiga' } }))
  refused('invalid_request', 403, {}, (s) => call(kit, operation('listDevices'), bearer(s)))
  refused('used_up', 401, {}, async (s) => {
    await enrollRaw(kit, s)
    return tryOut(kit, s)
  })
  const user_id = await makeUser(kit, 'ana')
  refused('user_limit_reached', 409, { user_id, max_devices_per_user: 1, max_uses: 2 }, async (s) => {
    await enrollRaw(kit, s)
    return tryOut(kit, s)
  })
  const revoked = (s: string, id: string) =>
    kit.admin.revokeToken({ params: { token_id: id } }).then(() => tryOut(kit, s))
  refused('key_proof_replayed', 401, { max_uses: 2 }, async (s) => {
    const [{ method, path }, own] = [operation('enroll'), generateKey('ES256').privateJwk]
    const headers = deviceCaller(s, own)(method, `${kit.publicUrl}${path}`)
    await call(kit, operation('enroll'), () => headers, { device })
    return call(kit, operation('enroll'), () => headers, { device })
  })
  const wireguard_public_key = newWireguardKey()
  refused('wireguard_key_in_use', 422, { max_uses: 2 }, async (s) => {
    await tryOut(kit, s, { device: { ...device, wireguard_public_key } })
    return tryOut(kit, s, { device: { ...device, wireguard_public_key } })
  })
  cases.push([
    'revoked',
    401,
    async () => {
      const { id, secret } = await tokenOf(kit)
      return { id, status: (await revoked(secret, id)).status }
    },
  ])
  cases.push([
    'revoked',
    401,
    async () => {
      const { id, secret } = await tokenOf(kit)
      await kit.admin.revokeToken({ params: { token_id: id } })
      const answer = await call(kit, operation('enroll'), () => ({}), { device, enrollment_token: secret })
      return { id, status: answer.status }
    },
  ])
  // All attempts are made before the first is checked, since attempts of one second share a write.
  const tried = await Promise.all(
    cases.map(async ([reason, status, attempt]) => {
      const { id, status: got } = await attempt()
      assert.equal(got, status, reason)
      return { reason, status, id }
    }),
  )
  for (const { reason, status, id } of tried) {
    const { last_attempt, attempts_refused } = await refusalsOf(kit, id, 1)
    assert.deepEqual([last_attempt?.outcome, last_attempt?.reason, attempts_refused], ['refused', reason, 1])
    assert.equal(last_attempt?.source_ip, '127.0.0.1', reason)
    const isRead = status !== 401 && reason === 'wrong_platform'
    assert.ok(isRead ? last_attempt?.platform === 'linux' : [null, 'linux'].includes(last_attempt?.platform ?? null))
  }
})

test('an enrollment that is granted shows too, and its device at once', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const granted = await tokenOf(kit, { max_uses: 0 })
  const waiting = await tokenOf(kit, { requires_approval: true })
  for (const [token, outcome] of [
    [granted, 'enrolled'],
    [waiting, 'waiting_for_approval'],
  ] as const) {
    const { id } = await enrollRaw(kit, token.secret)
    const { items } = await kit.admin.listDevices({ query: { token_id: token.id } })
    assert.deepEqual(
      items.map((d) => d.device_id),
      [id],
      'the device is listed as soon as it is answered',
    )
    await until(async () => (await tokenNow(kit, token.id)).last_attempt !== null)
    const { last_attempt, attempts_refused } = await tokenNow(kit, token.id)
    assert.deepEqual(
      [last_attempt?.outcome, last_attempt?.reason, last_attempt?.platform, attempts_refused],
      [outcome, null, 'linux', 0],
    )
  }
  // Both replicas count for the same token, and no refusal is lost.
  const once = await tokenOf(kit, { platforms: ['windows'] })
  const statuses = await times(20, (i) =>
    tryOut({ ...kit, ...kit.replicas[i % 2]! }, once.secret).then(({ status }) => status),
  )
  assert.deepEqual(new Set(statuses), new Set([403]))
  const { attempts_refused } = await refusalsOf(kit, once.id, 20)
  assert.equal(attempts_refused, 20)
  const listed = (await kit.admin.listTokens()).items.find((one) => one.token_id === once.id)
  assert.deepEqual([listed?.last_attempt?.reason, listed?.attempts_refused], ['wrong_platform', 20])
  const later = await kit.admin.revokeToken({ params: { token_id: once.id } })
  assert.equal(later.enrollment_token.attempts_refused, 20, 'a change of the token keeps them')
})
