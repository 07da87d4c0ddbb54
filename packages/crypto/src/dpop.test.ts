import assert from 'node:assert/strict'
import { createHash, createHmac, createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { CompactSign, EmbeddedJWK, importJWK, jwtVerify } from 'jose'
import { createProof, type ProofExpectation, proofKey, verifyProof } from './dpop.ts'
import { importPublic, type SigningAlg } from './jwk.ts'
import { signBytes } from './signature.ts'
import { generateKey } from './signer.ts'

const now = Date.UTC(2030, 0, 1, 12)
const iat = now / 1000
const url = 'https://control.example/v1/policy/digest'
const accessToken = 'header.payload.signature'
const ath = createHash('sha256').update(accessToken).digest('base64url')
const key = generateKey('ES256')
const request = { method: 'GET', url, accessToken, now }

const check = (proofs: ProofExpectation['proofs'], changed: Partial<ProofExpectation> = {}) =>
  verifyProof({ proofs, method: 'GET', url, accessToken, now, jkt: key.kid, toleranceSeconds: 60, ...changed })

/** Makes a proof with any header and claims, validly signed by an independent implementation. */
async function forge(claims: Record<string, unknown>, header: Record<string, unknown> = {}, by = key): Promise<string> {
  const payload = Buffer.from(JSON.stringify({ jti: 'j', htm: 'GET', htu: url, iat, ath, ...claims }))
  return new CompactSign(payload)
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: by.publicJwk, ...header })
    .sign(await importJWK(by.privateJwk, 'ES256'))
}

test('the published proof of RFC 9449 section 7.1 verifies', () => {
  const { jkt, jti, iat, publicJwk } = verifyProof({
    proofs:
      'eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA',
    method: 'GET',
    url: 'https://resource.example.org/protectedresource',
    accessToken: 'Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU',
    now: 1562262618_000,
    jkt: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I',
    toleranceSeconds: 60,
  })
  assert.deepEqual([jkt, jti, iat], ['0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I', 'e1j3V_bKic8-LAEB', 1562262618])
  assert.equal(publicJwk.crv, 'P-256')
})

for (const alg of ['ES256', 'Ed25519'] as const) {
  test(`${alg}: a proof verifies, also from the cache and by jose`, async () => {
    const { kid, privateJwk, publicJwk } = generateKey(alg)
    const proof = createProof(privateJwk, { ...request, jti: 'one', nonce: 'n' })
    const expected = { jkt: kid, jti: 'one', iat, publicJwk, nonce: 'n' }
    assert.deepEqual(check(proof, { jkt: kid }), expected)
    assert.deepEqual(check([proof], { jkt: kid }), expected)
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      typ: 'dpop+jwt',
      currentDate: new Date(now),
    })
    assert.deepEqual(payload, { jti: 'one', htm: 'GET', htu: url, iat, ath, nonce: 'n' })
    assert.deepEqual(protectedHeader, { typ: 'dpop+jwt', alg, jwk: publicJwk })
  })
}

test('a proof can be made from a JWK, a key object or a signing-only key, each with a fresh jti', () => {
  const privateKey = createPrivateKey({ key: key.privateJwk, format: 'jwk' })
  const keyStore = {
    alg: 'ES256' as const,
    publicJwk: key.publicJwk,
    signSync: (b: Uint8Array) => signBytes('ES256', privateKey, b),
  }
  const jtis = [key.privateJwk, privateKey, keyStore, key.privateJwk].map((by) => check(createProof(by, request)).jti)
  assert.equal(new Set(jtis).size, 4)
  assert.throws(() => createProof(generateKey('ES384').privateJwk, request), { code: 'bad_algorithm' })
})

test('proofs of jose are accepted; without an expected thumbprint the key of the proof is returned', async () => {
  const proof = await forge({})
  assert.equal(check(proof).jti, 'j')
  const { jkt, publicJwk } = verifyProof({ proofs: proof, ...request, toleranceSeconds: 60 })
  assert.deepEqual({ jkt, publicJwk }, { jkt: key.kid, publicJwk: key.publicJwk })
})

describe('binding', () => {
  test('a proof for another method, URL, token or key is refused', () => {
    const proof = createProof(key.privateJwk, request)
    const others: Partial<ProofExpectation>[] = [
      { method: 'POST' },
      { method: 'get' },
      { url: 'https://control.example/v1/policy/bundle' },
      { url: 'https://control.example/v1/policy/digest/' },
      { url: 'https://evil.example/v1/policy/digest' },
      { url: 'http://control.example/v1/policy/digest' },
      { url: 'https://control.example:8443/v1/policy/digest' },
      { accessToken: `${accessToken}x` },
      { jkt: generateKey('ES256').kid },
      { jkt: '' },
    ]
    for (const changed of others)
      assert.throws(() => check(proof, changed), { code: 'wrong_binding' }, JSON.stringify(changed))
  })

  test('the query of the request is ignored; a query inside htu is refused', async () => {
    assert.ok(check(createProof(key.privateJwk, { ...request, url: `${url}?wait=25#x` }), { url: `${url}?other=1` }))
    for (const htu of [`${url}?wait=25`, `${url}#x`, `${url}?`]) {
      const proof = await forge({ htu })
      assert.throws(() => check(proof), { code: 'wrong_binding' }, htu)
    }
  })

  test('htu is compared after URL normalisation', async () => {
    assert.ok(check(await forge({ htu: 'HTTPS://Control.Example:443/v1/./policy/digest' })))
    for (const htu of [
      undefined,
      7,
      '',
      'not a url',
      '/v1/policy/digest',
      'https://u@control.example/v1/policy/digest',
    ]) {
      const proof = await forge({ htu })
      assert.throws(() => check(proof), { code: 'wrong_binding' }, String(htu))
    }
  })

  test('a proof without ath is refused where a token is presented', async () => {
    const { accessToken: _, ...tokenless } = request
    assert.throws(() => check(createProof(key.privateJwk, tokenless)), { code: 'wrong_binding' })
  })
})

describe('time', () => {
  test('a proof may be 60 seconds old or early, not more', () => {
    const proof = createProof(key.privateJwk, request)
    assert.ok(check(proof, { now: now + 60_000 }))
    assert.throws(() => check(proof, { now: now + 60_001 }), { code: 'expired' })
    assert.ok(check(proof, { now: new Date(now - 60_000) }))
    assert.throws(() => check(proof, { now: now - 60_001 }), { code: 'not_yet_valid' })
    assert.ok(check(proof, { now: now + 200_000, toleranceSeconds: 300 }))
    assert.throws(() => check(proof, { now: now - 1000, toleranceSeconds: 0 }), { code: 'not_yet_valid' })
  })

  test('an iat that is no number is refused', async () => {
    for (const wrong of [undefined, null, String(iat), [iat]]) {
      const proof = await forge({ iat: wrong })
      assert.throws(() => check(proof), { code: 'malformed' })
    }
  })
})

describe('attacks', () => {
  test('a missing, repeated, joined or overlong proof is refused', () => {
    const proof = createProof(key.privateJwk, request)
    for (const proofs of [
      undefined,
      [],
      [proof, proof],
      `${proof}, ${proof}`,
      `${proof},${proof}`,
      '',
      'x'.repeat(9000),
    ]) {
      assert.throws(() => check(proofs), { code: 'malformed' })
    }
  })

  test('alg none, HS256 keyed with the public key, and other algorithms are refused', async () => {
    const claims = Buffer.from(JSON.stringify({ jti: 'j', htm: 'GET', htu: url, iat, ath })).toString('base64url')
    const pem = importPublic(key.publicJwk).export({ format: 'pem', type: 'spki' })
    for (const alg of ['none', 'HS256', 'RS256', 'EdDSA', 'ES384', undefined]) {
      const header = Buffer.from(JSON.stringify({ typ: 'dpop+jwt', alg, jwk: key.publicJwk })).toString('base64url')
      const input = `${header}.${claims}`
      const mac = createHmac('sha256', pem).update(input).digest('base64url')
      assert.throws(() => check(`${input}.${mac}`), { code: 'bad_algorithm' }, String(alg))
    }
    const p384 = generateKey('ES384')
    const mismatched = await forge({}, { jwk: p384.publicJwk })
    assert.throws(() => check(mismatched), { code: 'bad_algorithm' })
    const edKey = await forge({}, { jwk: generateKey('Ed25519').publicJwk })
    assert.throws(() => check(edKey), { code: 'bad_algorithm' })
  })

  test('a JWS of another typ is refused as proof', async () => {
    for (const typ of ['device+jwt', 'JWT', 'DPOP+JWT', undefined]) {
      const proof = await forge({}, { typ })
      assert.throws(() => check(proof), { code: 'wrong_type' })
    }
  })

  test('a jwk that is missing, private or of another kind is refused', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    for (const jwk of [key.privateJwk, publicKey.export({ format: 'jwk' }), { kty: 'oct', k: 'AA' }, null, 'x', {}]) {
      const header = Buffer.from(JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', jwk })).toString('base64url')
      const [, ...rest] = createProof(key.privateJwk, request).split('.')
      assert.throws(() => check([header, ...rest].join('.')), { code: 'malformed' })
    }
  })

  test('a proof with the public key of the victim and another signature is refused', async () => {
    const proof = await forge({}, { jwk: key.publicJwk }, { ...generateKey('ES256'), publicJwk: key.publicJwk })
    assert.throws(() => check(proof), { code: 'bad_signature' })
    assert.ok(check(createProof(key.privateJwk, request)))
    assert.throws(() => check(proof), { code: 'bad_signature' }, 'also when the key is in the cache')
  })

  test('a jti that is missing, empty or too long is refused', async () => {
    for (const jti of [undefined, '', 7, 'j'.repeat(257)]) {
      const proof = await forge({ jti })
      assert.throws(() => check(proof), { code: 'malformed' })
    }
  })

  test('any changed character is refused, cached or not', () => {
    const proof = createProof(key.privateJwk, request)
    const alphabet = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=.,+/ ']
    check(proof)
    fc.assert(
      fc.property(fc.nat(proof.length - 1), fc.constantFrom(...alphabet), (at, character) => {
        fc.pre(proof[at] !== character)
        assert.throws(() => check(proof.slice(0, at) + character + proof.slice(at + 1)), { name: 'CryptoError' })
      }),
      { numRuns: 1500 },
    )
  })

  test('any input causes no other error than a CryptoError', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.array(fc.base64String(), { minLength: 3, maxLength: 3 })), (sent) => {
        assert.throws(() => check(Array.isArray(sent) ? sent.join('.') : sent), { name: 'CryptoError' })
      }),
    )
  })
})

test('the replay key is SHA-256 over thumbprint and jti', () => {
  assert.deepEqual(proofKey(key.kid, 'j1'), createHash('sha256').update(`${key.kid}j1`).digest())
  const algs: SigningAlg[] = ['ES256', 'Ed25519']
  assert.equal(new Set(algs.map((alg) => proofKey(generateKey(alg).kid, 'j1').toString('hex'))).size, 2)
})
