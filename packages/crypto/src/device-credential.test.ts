import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeProtectedHeader, importJWK, jwtVerify, SignJWT } from 'jose'
import {
  type DeviceCredentialClaims,
  issueDeviceCredential,
  peekDeviceCredential,
  verifyDeviceCredential,
} from './device-credential.ts'
import { importPublic } from './jwk.ts'
import { signJws } from './jws.ts'
import type { VerificationKey } from './signature.ts'
import { generateKey, softwareSigner } from './signer.ts'

const issuer = 'https://control.example'
const now = Date.UTC(2030, 0, 1)
const iat = now / 1000
const claims: DeviceCredentialClaims = {
  iss: issuer,
  aud: [issuer, 'urn:holdfast:gateway'],
  sub: 'dev_01',
  jti: 'jti-1',
  iat,
  nbf: iat,
  exp: iat + 3600,
  cnf: { jkt: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I' },
  tid: 'tnt_01',
  uid: 'usr_01',
  gen: 3,
  enr: 'token',
  addresses: ['100.64.0.1', 'fd00::1'],
}

const key = generateKey('ES256')
const signer = softwareSigner('credential', key.privateJwk)
const held: VerificationKey = { publicKey: importPublic(key.publicJwk), alg: 'ES256' }
const verify = (token: string, at = now) => verifyDeviceCredential(token, held, { issuer, now: at })

/** Makes a credential with any claims, validly signed by an independent implementation. */
async function forge(changed: Record<string, unknown>, typ = 'device+jwt'): Promise<string> {
  const jwt = new SignJWT({ ...claims, ...changed }).setProtectedHeader({ alg: 'ES256', typ, kid: key.kid })
  return jwt.sign(await importJWK(key.privateJwk, 'ES256'))
}

test('peek finds the key of an issued credential, and verify returns its claims', async () => {
  const token = await issueDeviceCredential(signer, claims)
  assert.deepEqual(peekDeviceCredential(token), { kid: key.kid, claims })
  assert.deepEqual(verify(token), claims)
  const { cnf: _, ...keyless } = claims
  assert.deepEqual(verify(await issueDeviceCredential(signer, keyless)), keyless)
})

test('jose accepts a credential as JWT with the same claims, and its own is accepted here', async () => {
  const token = await issueDeviceCredential(signer, claims)
  const options = { issuer, audience: 'urn:holdfast:gateway', typ: 'device+jwt', currentDate: new Date(now) }
  const { payload } = await jwtVerify(token, await importJWK(key.publicJwk, 'ES256'), options)
  assert.deepEqual(payload, claims)
  assert.deepEqual(decodeProtectedHeader(token), { alg: 'ES256', typ: 'device+jwt', kid: key.kid })
  assert.deepEqual(verify(await forge({})), claims)
})

test('a credential is valid from nbf (5 s of tolerance) until just before exp', async () => {
  const token = await issueDeviceCredential(signer, claims)
  assert.equal(verify(token, now - 5000).sub, 'dev_01')
  assert.throws(() => verify(token, now - 5001), { code: 'not_yet_valid' })
  assert.equal(verify(token, claims.exp * 1000 - 1).sub, 'dev_01')
  assert.throws(() => verify(token, claims.exp * 1000), { code: 'expired' })
  assert.equal(verifyDeviceCredential(token, held, { issuer, now: new Date(now) }).gen, 3)
})

test('a credential of another issuer or audience is refused', async () => {
  const token = await issueDeviceCredential(signer, claims)
  assert.throws(() => verifyDeviceCredential(token, held, { issuer: `${issuer}/`, now }), { code: 'wrong_issuer' })
  assert.throws(() => verifyDeviceCredential(token, held, { issuer, now, audience: 'urn:other' }), {
    code: 'wrong_audience',
  })
  assert.equal(verifyDeviceCredential(token, held, { issuer, now, audience: 'urn:holdfast:gateway' }).tid, 'tnt_01')
})

test('a JWS of another type is refused, and only credential keys can issue', async () => {
  for (const typ of ['eat+jwt', 'JWT', 'policy-pointer+jwt']) {
    const other = await forge({}, typ)
    assert.throws(() => verify(other), { code: 'wrong_type' })
    assert.throws(() => peekDeviceCredential(other), { code: 'wrong_type' })
  }
  await assert.rejects(issueDeviceCredential(softwareSigner('posture', key.privateJwk), claims), { code: 'wrong_type' })
})

test('a credential signed by another key is refused', async () => {
  const stranger = softwareSigner('credential', generateKey('ES256').privateJwk)
  const token = await issueDeviceCredential({ ...stranger, kid: key.kid }, claims)
  assert.throws(() => verify(token), { code: 'bad_signature' })
})

test('a missing claim, or one of another type, is malformed, also an unreadable cnf', async () => {
  const wrong: Record<string, unknown>[] = [
    { cnf: null },
    { cnf: 'jkt' },
    { cnf: {} },
    { cnf: { jwk: key.publicJwk } },
    { cnf: { jkt: '' } },
    { cnf: { jkt: 'a', 'x5t#S256': 1 } },
    { sub: undefined },
    { sub: 7 },
    { aud: issuer },
    { aud: [] },
    { exp: '9999999999' },
    { exp: iat + 0.5 },
    { nbf: undefined },
    { gen: -1 },
    { gen: 2 ** 60 },
    { enr: 'magic' },
    { enr: undefined },
    { tid: '' },
    { addresses: '100.64.0.1' },
    { addresses: [7] },
  ]
  for (const changed of wrong) {
    const token = await forge(changed)
    assert.throws(() => verify(token), { code: 'malformed' }, JSON.stringify(changed))
    assert.throws(() => peekDeviceCredential(token), { code: 'malformed' })
  }
  const doubled = JSON.stringify(claims).replace('{', '{"uid":"usr_02",')
  const token = await signJws(signer, 'device+jwt', Buffer.from(doubled))
  assert.throws(() => verify(token), { code: 'malformed' })
})

test('a malformed credential is refused before any key is looked up', () => {
  for (const token of ['', 'a.b', 'a.b.c.d', 'hfk_abc', `${'a'.repeat(9000)}.a.a`]) {
    assert.throws(() => peekDeviceCredential(token), { code: 'malformed' }, token.slice(0, 20))
  }
})
