import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { algOf, importPublic, parsePublicJwk, type SigningAlg, thumbprint } from './jwk.ts'
import { generateKey, softwareSigner } from './signer.ts'

const algs: SigningAlg[] = ['ES256', 'ES384', 'Ed25519']

test('RFC 8037 appendix A.3: thumbprint of an Ed25519 key', () => {
  assert.equal(
    thumbprint({ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }),
    'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  )
})

test('RFC 9449 section 6.1: thumbprint of a P-256 key', () => {
  assert.equal(
    thumbprint({
      kty: 'EC',
      x: 'l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs',
      y: '9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA',
      crv: 'P-256',
    }),
    '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I',
  )
})

test('jose computes the same thumbprints, and its keys are accepted', async () => {
  for (const alg of algs) {
    const { kid, publicJwk } = generateKey(alg)
    assert.equal(kid, await calculateJwkThumbprint(publicJwk))
    assert.equal(algOf(publicJwk), alg)
    const { publicKey } = await generateKeyPair(alg, { extractable: true })
    const theirs = parsePublicJwk({ ...(await exportJWK(publicKey)), kid: 'x', alg, use: 'sig' })
    assert.equal(thumbprint(theirs), await calculateJwkThumbprint(theirs))
    assert.equal(importPublic(theirs).type, 'public')
  }
})

test('a key with private members is refused as public key', () => {
  for (const alg of algs) assert.throws(() => importPublic(generateKey(alg).privateJwk), { code: 'malformed' })
  assert.throws(() => importPublic({ ...generateKey('ES256').publicJwk, k: 'AA' }), { code: 'malformed' })
})

test('other key types, curves, lengths and encodings, and contradictory members, are refused', () => {
  const ec = generateKey('ES256').publicJwk
  const p384 = generateKey('ES384').publicJwk
  const refused: unknown[] = [
    undefined,
    null,
    [],
    'text',
    {},
    { kty: 'oct' },
    { kty: 'RSA', n: 'AQAB', e: 'AQAB' },
    { ...ec, crv: 'secp256k1' },
    { ...ec, crv: 'P-384' },
    { ...p384, crv: 'P-256' },
    { ...ec, crv: 'Ed25519' },
    { ...ec, kty: 'OKP' },
    { ...ec, crv: '__proto__' },
    { ...ec, x: undefined },
    { ...ec, x: `${ec.x}=` },
    { ...ec, x: ec.x.slice(0, -2) },
    { ...ec, alg: 'HS256' },
    { ...ec, alg: 'ES384' },
    { ...ec, use: 'enc' },
    { kty: 'OKP', crv: 'X25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
  ]
  for (const jwk of refused) assert.throws(() => importPublic(jwk), { code: 'malformed' }, JSON.stringify(jwk))
})

test('a point that is not on its curve is refused', () => {
  const { publicJwk } = generateKey('ES256')
  assert.throws(() => importPublic({ ...publicJwk, x: Buffer.alloc(32, 1).toString('base64url') }), {
    code: 'malformed',
  })
})

test('a private key that is empty, or of another public key, is refused as signer', () => {
  for (const alg of algs) {
    const { publicJwk } = generateKey(alg)
    for (const d of ['', generateKey(alg).privateJwk.d]) {
      assert.throws(() => softwareSigner('policy', { ...publicJwk, d }), { code: 'malformed' })
    }
  }
})
