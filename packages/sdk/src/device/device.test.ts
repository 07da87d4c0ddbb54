import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { parsePublicJwk, thumbprint } from '@holdfast/crypto'
import { day, startControl, token } from '../../test/support/device-control-plane.ts'
import { contentFor, digestOf, makeKey } from '../../test/support/issuer.ts'
import { ApiError, ConnectionError, type DeviceState, openDevice, type ProofSigner } from '../index.ts'

test('enrolling proves a key of its own and pins the trust set', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  assert.equal(device.id, 'dev_1')
  const { state } = device
  assert.equal(thumbprint(state.privateJwk!), control.jkt)
  assert.deepEqual(state.trust, control.trust)
  assert.deepEqual(control.saved.at(-1), state)
  assert.equal(control.asked[0]?.headers.authorization, `Bearer ${token}`)
})

test('an enrollment whose answer is lost is asked for again under the same key', async (t) => {
  const control = await startControl(t)
  control.loseAnswers = 1
  await control.enrollNow()
  const keys = control.asks('/v1/enroll').map(({ headers }) => headers['idempotency-key'])
  assert.equal(keys.length, 2)
  assert.equal(new Set(keys).size, 1)
})

test('a trust set that its own keys did not sign ends the enrollment', async (t) => {
  const control = await startControl(t)
  control.trust = await control.issuer.trustSet({ signedBy: [makeKey('trust-set')] })
  await assert.rejects(control.enrollNow(), { name: 'VerificationError', code: 'unknown_key' })
})

test('a poll finds the change, the bundle brings it, the next poll is conditional', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  assert.equal(device.policy, null)
  assert.deepEqual(await device.pollDigest(), { changed: true, pollSeconds: 1 })
  assert.deepEqual((await device.fetchBundle()).content, control.content)
  assert.equal((await device.pollDigest()).changed, false)
  assert.equal(control.asks('/v1/policy/digest').at(-1)?.headers['if-none-match'], `"${digestOf(control.content)}"`)

  control.content = contentFor('r2')
  control.seq = 2
  assert.equal((await device.pollDigest()).changed, true)
  assert.equal((await device.fetchBundle()).content.rules[0]?.id, 'r2')
  assert.deepEqual(device.state.accepted, { digest: digestOf(control.content), seq: 2 })
})

test('304 for ever does not freeze a device: after half of its life the pointer is asked for in full', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  await device.fetchBundle()
  control.clock.now = new Date(control.clock.now.getTime() + 29 * 60_000)
  await device.pollDigest()
  assert.ok(control.asks('/v1/policy/digest').at(-1)?.headers['if-none-match'])
  control.clock.now = new Date(control.clock.now.getTime() + 2 * 60_000)
  await device.pollDigest()
  assert.equal(control.asks('/v1/policy/digest').at(-1)?.headers['if-none-match'], undefined)
})

test('a bundle is asked for in full after half of its life, and its longer life is taken', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const first = await device.fetchBundle()
  assert.equal(device.isBundleDue, false)
  assert.equal(await device.fetchBundle(), first, '304')
  control.clock.now = new Date(control.clock.now.getTime() + day / 2)
  assert.equal(device.isBundleDue, true)
  const second = await device.fetchBundle()
  assert.ok(second.expiresAt > first.expiresAt)
  assert.equal(device.isBundleDue, false)
})

test('what fails verification leaves the last good policy in force, until its end', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const good = await device.fetchBundle()
  control.content = contentFor('r2')
  control.seq = 0
  await assert.rejects(device.pollDigest(), { name: 'VerificationError', code: 'rollback' })
  control.seq = 2
  control.instead['/v1/policy/bundle'] = async () => ({
    body: {
      channel: 'stable',
      version: 1,
      seq: 2,
      digest: digestOf(control.content),
      pointer: await control.issuer.pointer({ digest: digestOf(control.content), seq: 2 }),
      bundle: await control.issuer.bundle(contentFor('evil')),
    },
  })
  await assert.rejects(device.fetchBundle(), { name: 'VerificationError', code: 'wrong_digest' })
  assert.equal(device.policy, good)
  control.clock.now = good.expiresAt
  assert.equal(device.policy, null)
})

test('a policy by a key that a newer trust set brings is accepted after its refresh', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const { issuer } = control
  const { keys } = issuer
  keys.policy = makeKey('policy')
  await assert.rejects(device.fetchBundle(), { code: 'unknown_key' })
  control.trust = await issuer.trustSet({ version: 2, published: [keys.policy, keys.trust] })
  assert.ok(await device.fetchBundle())
  assert.equal(device.state.trust.version, 2)
})

test('a saved device goes on where it was: policy, seq and key', async (t) => {
  const control = await startControl(t)
  const first = await control.enrollNow()
  await first.fetchBundle()
  const state: DeviceState = JSON.parse(JSON.stringify(first.state))
  const again = openDevice(state, { now: () => control.clock.now })
  assert.deepEqual(again.policy, first.policy)
  assert.equal((await again.pollDigest()).changed, false)

  const tampered = structuredClone(state)
  tampered.policy!.bundle = await control.issuer.bundle(contentFor('evil'))
  const suspicious = openDevice(tampered, { now: () => control.clock.now })
  assert.equal(suspicious.policy, null)
  control.content = contentFor('r0')
  control.seq = 0
  await assert.rejects(suspicious.fetchBundle(), { code: 'rollback' })
})

test('renewal, with the old key and with a new one', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const firstKey = thumbprint(device.state.privateJwk!)
  await Promise.all([device.renew(), device.renew()])
  assert.equal(device.state.credential, 'cred-2', 'two at once are one')
  assert.equal(thumbprint(device.state.privateJwk!), firstKey)
  await device.renew({ rotateKey: true })
  assert.equal(device.state.credential, 'cred-3')
  assert.notEqual(thumbprint(device.state.privateJwk!), firstKey)
  assert.equal((await device.reportPosture({ 'disk.encrypted': true })).verdict, 'compliant')
  assert.deepEqual(control.saved.at(-1), device.state)
})

/** A non-exportable key as in a TPM: it only signs. */
function lockedKey(): ProofSigner & { thumbprint: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const publicJwk = parsePublicJwk(publicKey.export({ format: 'jwk' }))
  const signSync = (bytes: Uint8Array) => sign('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return { alg: 'ES256', publicJwk, signSync, thumbprint: thumbprint(publicJwk) }
}

test("a key of the caller's own proves enrollment, requests and renewals, and is in no state", async (t) => {
  const control = await startControl(t)
  const [first, second] = [lockedKey(), lockedKey()]
  const device = await control.enrollNow({ key: first })
  assert.equal(control.jkt, first.thumbprint)
  await device.fetchBundle()
  await device.renew()
  await device.renew({ newKey: second })
  assert.equal(control.jkt, second.thumbprint)
  await device.fetchBundle()
  assert.equal(device.state.privateJwk, null)
  for (const state of control.saved) assert.doesNotMatch(JSON.stringify(state), /"d":/)
  const { state } = device
  assert.throws(() => openDevice(state), TypeError)
  await openDevice(state, { key: second, now: () => control.clock.now }).pollDigest()
  const wrong = openDevice(state, { key: first, now: () => control.clock.now })
  await assert.rejects(wrong.pollDigest(), ApiError)
  await device.renew({ rotateKey: true })
  assert.equal(thumbprint(device.state.privateJwk!), control.jkt, 'back to a key of the state')
})

test('a renewal that asks for something is not swallowed by one that is under way', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const wireguardPublicKey = `${'A'.repeat(43)}=`
  await Promise.all([device.renew(), device.renew({ wireguardPublicKey }), device.renew()])
  assert.deepEqual(
    control.asks('/v1/enroll/renew').map(({ body }) => body),
    [{}, { wireguard_public_key: wireguardPublicKey }],
  )
  assert.equal(device.state.credential, 'cred-3')
})

test('a request overtaken by a renewal is sent again with the new credential', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  control.instead['/v1/posture/report'] = async ({ headers }) => {
    if (headers.authorization !== 'Bearer cred-1') return undefined
    await device.renew()
    return { status: 401, body: { error: 'unauthorized', detail: 'x' } }
  }
  assert.equal((await device.reportPosture({})).verdict, 'compliant')
})

test('an event keeps its id: what was not answered is sent again as it is', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const path = '/v1/telemetry/session'
  control.instead[path] = () => ({ body: { accepted: 1, duplicate: 0, rejected: [] } })
  const connected = device.observed({ kind: 'connected', latency_ms: 12 })
  assert.equal(connected.at, control.clock.now.toISOString())
  assert.notEqual(connected.event_id, device.observed({ kind: 'connected', latency_ms: 12 }).event_id)
  control.loseAnswers = 1
  await assert.rejects(device.reportTelemetry([connected]), ConnectionError)
  await device.reportTelemetry([connected])
  assert.deepEqual(
    control.asks(path).map(({ body }) => body),
    [{ events: [connected] }, { events: [connected] }],
  )
})
