import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { test } from 'node:test'
import { generateKey, openPrivateKey, remoteSigner } from './signer.ts'

test('a remote key gets digests and signs like a local one', async () => {
  for (const [alg, length] of [
    ['ES256', 32],
    ['ES384', 48],
  ] as const) {
    const { kid, publicJwk } = generateKey(alg)
    const seen: number[] = []
    const signer = remoteSigner('policy', publicJwk, async (digest) => {
      seen.push(digest.length)
      return Buffer.alloc(2 * length, 1)
    })
    assert.deepEqual([signer.kid, signer.alg, signer.purpose], [kid, alg, 'policy'])
    await assert.rejects(signer.sign(Buffer.from('a')), /does not verify with that key/)
    assert.deepEqual(seen, [length])
  }
})

test('a signature by another key is never returned', async () => {
  const [own, other] = [generateKey('ES256'), generateKey('ES256')]
  const message = Buffer.from('a message')
  const raw = (key: typeof own) =>
    sign('sha256', message, { key: openPrivateKey(key.privateJwk).privateKey, dsaEncoding: 'ieee-p1363' })
  const by = (key: typeof own) => remoteSigner('policy', own.publicJwk, async () => raw(key)).sign(message)
  assert.equal((await by(own)).length, 64)
  await assert.rejects(by(other), /does not verify with that key/)
  assert.throws(() => remoteSigner('policy', generateKey('Ed25519').publicJwk, async () => raw(own)), /Ed25519/)
})
