import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey, softwareSigner } from '@holdfast/crypto'
import fc from 'fast-check'
import { createIssuer, makeKey } from '../../test/support/issuer.ts'
import { verifyPostureAssertion } from './posture-verifier.ts'
import { pinTrust } from './trust-store.ts'

const now = new Date('2030-01-01T00:00:00Z')
const issuer = createIssuer({ now: () => now })
const trust = pinTrust(await issuer.trustSet(), { tenantId: issuer.tenantId, now })
const nonce = 'AAAAAAAAAAAAAAAAAAAAAA'
const options = { issuer: 'https://control.example', nonce: null, now }
const refuses = (code: string) => ({ name: 'VerificationError', code })
const later = (seconds: number) => ({ now: new Date(now.getTime() + seconds * 1000) })

type Made = Parameters<typeof issuer.assertion>
const read = async (claims: object, more: object = {}, made: Made[1] = {}) =>
  verifyPostureAssertion(await issuer.assertion(claims, made), trust, { ...options, ...more })

test('what the tenant vouches for is read', async () => {
  assert.deepEqual(await read({ eat_nonce: nonce }, { nonce, deviceId: 'dev_1' }), {
    deviceId: 'dev_1',
    userId: 'usr_1',
    status: 'affirming',
    reasons: [],
    checks: [{ id: 'disk', passed: true }],
    keyThumbprint: 'thumb',
    posture: { disk_encrypted: true },
    reportedAt: now,
    id: 'one',
    issuedAt: now,
    expiresAt: new Date('2030-01-01T00:10:00Z'),
  })
  const nobodys = await read({ uid: undefined, cnf: undefined, posture: { reported_at: null } })
  assert.deepEqual([nobodys.userId, nobodys.keyThumbprint, nobodys.reportedAt], [null, null, null])
})

test('another tenant, issuer, audience, device, nonce or time: each is refused by its name', async () => {
  for (const [code, claims, more] of [
    ['wrong_tenant', { tid: 'tnt_b' }],
    ['wrong_tenant', { tid: undefined }],
    ['wrong_issuer', { iss: 'https://other.example' }],
    ['wrong_audience', { aud: ['urn:holdfast:gateway'] }],
    ['malformed', { aud: 'urn:holdfast:relying-party' }],
    ['wrong_device', {}, { deviceId: 'dev_2' }],
    ['wrong_nonce', {}, { nonce }],
    ['wrong_nonce', { eat_nonce: nonce }, {}],
    ['wrong_nonce', { eat_nonce: `${nonce}A` }, { nonce }],
    ['wrong_nonce', { eat_nonce: [nonce] }, { nonce }],
    ['expired', {}, later(600)],
    ['expired', {}, later(1200)],
    ['not_yet_valid', {}, later(-600)],
    ['malformed', { exp: undefined }],
    ['malformed', { submods: { device: { ear_status: 'trusted', ear_verifier_claims: { checks: [], reasons: [] } } } }],
    ['malformed', { submods: {} }],
    ['malformed', { posture: [] }],
    ['malformed', { posture: { reported_at: 'then' } }],
    ['malformed', { cnf: 'thumb' }],
  ] as const)
    await assert.rejects(read(claims, more), refuses(code), `${code} ${JSON.stringify(claims)}`)
  await read({}, later(-30))
  await read({}, later(599))
})

test('a key of another purpose vouches for nothing, nor does one that is not published', async () => {
  const { posture: _, ...others } = issuer.keys
  for (const key of Object.values(others)) await assert.rejects(read({}, {}, { key }), refuses('unknown_key'))
  await assert.rejects(read({}, {}, { key: makeKey('posture') }), refuses('unknown_key'))
})

test('nothing else that is signed passes for an assertion, nor an assertion for it', async () => {
  for (const typ of ['device+jwt', 'JWT', 'policy-pointer+jwt', 'application/eat+jwt', 'EAT+JWT'])
    await assert.rejects(read({}, {}, { typ }), refuses('wrong_type'), typ)
  const credential = await issuer.credential('thumb', {}, { key: issuer.keys.posture })
  assert.throws(() => verifyPostureAssertion(credential, trust, options), refuses('wrong_type'))
})

test('algorithm and key are the published ones, whatever the header says', async () => {
  const good = await issuer.assertion()
  const [, payload = '', signature = ''] = good.split('.')
  const own = generateKey('ES256')
  const { kid } = issuer.keys.posture
  const withHeader = (header: object) =>
    `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}.${signature}`
  for (const [code, header] of [
    ['bad_algorithm', { alg: 'none', typ: 'eat+jwt', kid }],
    ['bad_algorithm', { alg: 'HS256', typ: 'eat+jwt', kid }],
    ['bad_algorithm', { alg: 'Ed25519', typ: 'eat+jwt', kid }],
    ['unknown_key', { alg: 'ES256', typ: 'eat+jwt', kid: "' or 1=1 --" }],
    ['unknown_key', { alg: 'ES256', typ: 'eat+jwt', kid: '../../posture' }],
    ['unknown_key', { alg: 'ES256', typ: 'eat+jwt', kid: '__proto__' }],
    ['unknown_key', { alg: 'ES256', typ: 'eat+jwt', kid: own.kid, jwk: own.publicJwk }],
    ['malformed', { alg: 'ES256', typ: 'eat+jwt' }],
    ['malformed', { alg: 'ES256', typ: 'eat+jwt', kid, crit: ['b64'], b64: false }],
    ['bad_signature', { alg: 'ES256', typ: 'eat+jwt', kid, jku: 'https://evil.example/jwks' }],
  ] as const)
    assert.throws(
      () => verifyPostureAssertion(withHeader(header), trust, options),
      refuses(code),
      JSON.stringify(header),
    )

  // Signed by the attacker's key under the `kid` of the published key.
  const forged = { ...softwareSigner('posture', own.privateJwk), kid }
  const key = { ...makeKey('posture'), signer: forged }
  await assert.rejects(read({}, {}, { key }), refuses('bad_signature'))
})

test('any changed byte is refused', async () => {
  const good = await issuer.assertion()
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.nat(6), (at, bit) => {
      const bytes = Buffer.from(good, 'latin1')
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at)
      const token = bytes.toString('latin1')
      assert.throws(() => verifyPostureAssertion(token, trust, options), { name: 'VerificationError' })
    }),
    { numRuns: 400 },
  )
  for (const text of ['', '.', '..', 'a.b.c', good.slice(0, -1), `${good}.`, '\0'])
    assert.throws(() => verifyPostureAssertion(text, trust, options), { name: 'VerificationError' })
})
