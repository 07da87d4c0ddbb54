import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey, type SigningAlg, softwareSigner } from './index.ts'
import { importTufKey, isSignedBy, signTuf, tufKeyId, tufKeyOf } from './tuf.ts'

const signerOf = (alg: SigningAlg) => softwareSigner('tuf-root', generateKey(alg).privateJwk)
const signed = { _type: 'root', note: 'a "quote", a \\ and\na line', version: 1 }

test('a threshold counts different keys of the role, in both schemes', async () => {
  const signers = [signerOf('ES256'), signerOf('Ed25519'), signerOf('ES256')]
  const keys = Object.fromEntries(signers.map(({ publicJwk }) => [tufKeyId(tufKeyOf(publicJwk)), tufKeyOf(publicJwk)]))
  const role = { keyids: Object.keys(keys), threshold: 2 }
  const document = await signTuf(signed, signers.slice(0, 2))
  assert.ok(isSignedBy(document, keys, role))
  const [one] = document.signatures
  assert.equal(isSignedBy({ signed, signatures: [one!, one!] }, keys, role), false, 'one key twice')
  assert.equal(isSignedBy({ ...document, signed: { ...signed, version: 2 } }, keys, role), false, 'another content')
  assert.equal(isSignedBy(document, keys, { ...role, keyids: role.keyids.slice(2) }), false, 'keys of another role')
  const alias = { ...keys, ['ab'.repeat(32)]: keys[one!.keyid]! }
  const aliased = { signed, signatures: [one!, { keyid: 'ab'.repeat(32), sig: one!.sig }] }
  assert.equal(isSignedBy(aliased, alias, { keyids: Object.keys(alias), threshold: 2 }), false, 'one key, two names')
})

test('a key of another curve, scheme or form is refused', () => {
  const good = tufKeyOf(generateKey('ES256').publicJwk)
  assert.ok(importTufKey(good))
  for (const bad of [
    { ...good, scheme: 'ed25519' },
    { ...good, keytype: 'rsa' },
    { ...good, keyval: { public: 'ab'.repeat(32) } },
    { ...good, keyval: { public: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----' } },
    { keytype: 'ed25519', scheme: 'ed25519', keyval: { public: 'zz' } },
  ])
    assert.equal(importTufKey(bad), undefined, JSON.stringify(bad))
  assert.throws(() => tufKeyOf(generateKey('ES384').publicJwk), TypeError)
})
