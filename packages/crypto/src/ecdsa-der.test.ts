import assert from 'node:assert/strict'
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { derFromRaw, rawFromDer } from './ecdsa-der.ts'
import { importPublic } from './jwk.ts'
import { signBytes, verifyBytes } from './signature.ts'
import { generateKey, openPrivateKey } from './signer.ts'

/** Reads the DER INTEGERs, which must be in minimal form. */
function readIntegers(der: Buffer): bigint[] {
  assert.deepEqual([der[0], der[1]], [0x30, der.length - 2])
  const found: bigint[] = []
  for (let at = 2; at < der.length; ) {
    const content = der.subarray(at + 2, at + 2 + der[at + 1]!)
    assert.equal(der[at], 0x02)
    assert.ok(content[0]! < 0x80, 'not negative')
    assert.ok(content.length === 1 || content[0] !== 0 || content[1]! >= 0x80, 'no zeros in front')
    found.push(BigInt(`0x${content.toString('hex')}`))
    at += 2 + content.length
  }
  return found
}

test('the DER form holds both numbers of the raw signature, with any leading bits', () => {
  const half = (size: number) =>
    fc
      .tuple(fc.nat(size), fc.uint8Array({ minLength: size, maxLength: size }))
      .map(([zeros, bytes]) => bytes.map((b, i) => (i < zeros ? 0 : b)))
  for (const size of [32, 48])
    fc.assert(
      fc.property(half(size), half(size), (r, s) => {
        const [R, S] = [r, s].map((bytes) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
        const raw = Buffer.concat([r, s])
        assert.deepEqual(readIntegers(derFromRaw(raw)), [R, S])
        assert.deepEqual(rawFromDer(derFromRaw(raw), raw.length), raw)
      }),
    )
  for (const length of [0, 63, 65, 132]) assert.throws(() => derFromRaw(Buffer.alloc(length)), RangeError)
  assert.throws(() => rawFromDer(derFromRaw(Buffer.alloc(96, 1)), 64), RangeError)
})

test('raw signatures are made and verified as by the platform', () => {
  for (const [namedCurve, alg, hash] of [
    ['P-256', 'ES256', 'sha256'],
    ['P-384', 'ES384', 'sha384'],
  ] as const) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    const bytes = Buffer.from('what is signed')
    const dsaEncoding = 'ieee-p1363'
    for (let i = 0; i < 60; i++) {
      const signature = i % 2 ? sign(hash, bytes, { key: privateKey, dsaEncoding }) : signBytes(alg, privateKey, bytes)
      assert.ok(verifyBytes({ alg, publicKey }, bytes, signature))
      assert.ok(verify(hash, bytes, { key: publicKey, dsaEncoding }, signature))
      signature[i % signature.length]! ^= 1 << (i % 8)
      const judged = verify(hash, bytes, { key: publicKey, dsaEncoding }, signature)
      assert.equal(verifyBytes({ alg, publicKey }, bytes, signature), judged)
    }
    const other = alg === 'ES256' ? 'ES384' : 'ES256'
    assert.throws(() => signBytes(other, privateKey, bytes), TypeError)
    assert.throws(() => signBytes('Ed25519', privateKey, bytes), TypeError)
    for (const odd of [Buffer.alloc(alg === 'ES256' ? 64 : 96), Buffer.alloc(alg === 'ES256' ? 64 : 96, 0xff)])
      assert.equal(verifyBytes({ alg, publicKey }, bytes, odd), false)
  }
})

test('the platform verifies raw ECDSA signatures in their DER form', () => {
  for (const alg of ['ES256', 'ES384'] as const) {
    const { privateKey, publicJwk } = openPrivateKey(generateKey(alg).privateJwk)
    const publicKey = importPublic(publicJwk)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const der = derFromRaw(signBytes(alg, privateKey, bytes))
        assert.ok(verify(alg === 'ES256' ? 'sha256' : 'sha384', bytes, { key: publicKey, dsaEncoding: 'der' }, der))
      }),
      { numRuns: 150 },
    )
  }
  assert.equal(
    derFromRaw(Buffer.concat([Buffer.alloc(31), Buffer.of(1), Buffer.alloc(32, 0xff)])).toString('hex'),
    `3026020101022100${'ff'.repeat(32)}`,
  )
  assert.throws(() => derFromRaw(Buffer.alloc(63)), RangeError)
})
