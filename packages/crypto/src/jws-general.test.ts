import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generalVerify, importJWK } from 'jose'
import { importPublic } from './jwk.ts'
import type { KeyLookup } from './jws.ts'
import { signGeneralJws, verifyGeneralJws } from './jws-general.ts'
import { type GeneratedKey, generateKey, softwareSigner } from './signer.ts'

const typ = 'trust-set+jws'

function holding(...keys: GeneratedKey[]): KeyLookup {
  const table = new Map(keys.map(({ kid, publicJwk }) => [kid, publicJwk]))
  return (kid) => {
    const jwk = table.get(kid)
    return jwk && { publicKey: importPublic(jwk), alg: jwk.kty === 'OKP' ? 'Ed25519' : 'ES256' }
  }
}

async function overlap() {
  const [old, young, stranger] = [generateKey('ES256'), generateKey('Ed25519'), generateKey('ES256')]
  const signers = [old, young].map(({ privateJwk }) => softwareSigner('trust-set', privateJwk))
  return { old, young, stranger, jws: await signGeneralJws(signers, typ, { version: 2 }) }
}

test('a holder of any one of the keys verifies, and learns which keys signed', async () => {
  const { old, young, jws } = await overlap()
  const onWire: unknown = JSON.parse(JSON.stringify(jws))
  assert.deepEqual(verifyGeneralJws(onWire, { typ, key: holding(old) }).kids, [old.kid])
  assert.deepEqual(verifyGeneralJws(onWire, { typ, key: holding(young) }).kids, [young.kid])
  const both = verifyGeneralJws(onWire, { typ, key: holding(old, young) })
  assert.deepEqual(both.kids, [old.kid, young.kid])
  assert.equal(both.payload.toString(), '{"version":2}')
})

test('jose verifies it with either key', async () => {
  const { old, young, jws } = await overlap()
  await generalVerify(jws, await importJWK(old.publicJwk, 'ES256'))
  const { payload } = await generalVerify(jws, await importJWK(young.publicJwk, 'Ed25519'))
  assert.equal(Buffer.from(payload).toString(), '{"version":2}')
})

test('signatures by unknown keys only are refused', async () => {
  const { stranger, jws } = await overlap()
  assert.throws(() => verifyGeneralJws(jws, { typ, key: holding(stranger) }), { code: 'unknown_key' })
})

test('one bad signature of a known key refuses the whole', async () => {
  const { old, young, stranger, jws } = await overlap()
  const forged = await signGeneralJws([{ ...softwareSigner('trust-set', stranger.privateJwk), kid: old.kid }], typ, {
    version: 2,
  })
  const mixed = { ...jws, signatures: [...forged.signatures, ...jws.signatures.slice(1)] }
  assert.throws(() => verifyGeneralJws(mixed, { typ, key: holding(old, young) }), { code: 'bad_signature' })
  const otherPayload = { ...jws, payload: Buffer.from('{"version":3}').toString('base64url') }
  assert.throws(() => verifyGeneralJws(otherPayload, { typ, key: holding(old) }), { code: 'bad_signature' })
})

test('a key that signed twice, and another type, are refused', async () => {
  const { old, jws } = await overlap()
  const twice = { ...jws, signatures: [jws.signatures[0], jws.signatures[0]] }
  assert.throws(() => verifyGeneralJws(twice, { typ, key: holding(old) }), { code: 'malformed' })
  assert.throws(() => verifyGeneralJws(jws, { typ: 'policy-bundle+jws', key: holding(old) }), { code: 'wrong_type' })
})

test('malformed general JWS objects are refused', async () => {
  const { old, jws } = await overlap()
  const [one] = jws.signatures
  const shapes: unknown[] = [
    null,
    [],
    'text',
    {},
    { ...jws, extra: 1 },
    { ...jws, signatures: [] },
    { ...jws, signatures: Array.from({ length: 17 }, () => one) },
    { ...jws, signatures: [{ ...one, header: { alg: 'none' } }] },
    { ...jws, signatures: [{ signature: one?.signature }] },
    { ...jws, payload: `${jws.payload}=` },
    { payload: jws.payload, ...one },
  ]
  for (const shape of shapes)
    assert.throws(() => verifyGeneralJws(shape, { typ, key: holding(old) }), { code: 'malformed' })
})
