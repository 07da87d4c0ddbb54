import assert from 'node:assert/strict'
import { createDecipheriv, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { CompactEncrypt } from 'jose'
import { openKek, reseal, seal, sealedKid, sealedPrefix, unseal } from './seal.ts'

const bytes = Buffer.alloc(32, 9)
const kek = openKek(bytes)
const context = 'signing_key/sgn_01/private_jwk'

test('a sealed value opens only under its own context', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (secret) => {
      const jwe = await seal(kek, context, secret)
      assert.deepEqual(await unseal(kek, context, jwe), Buffer.from(secret))
      await assert.rejects(unseal(kek, 'signing_key/sgn_02/private_jwk', jwe), { code: 'wrong_context' })
    }),
    { numRuns: 30 },
  )
})

test('a sealed value is plain RFC 7516: AES key wrap and AES-GCM open it', async () => {
  const [header = '', wrapped = '', iv = '', ciphertext = '', tag = ''] = (
    await seal(kek, context, Buffer.from('secret'))
  ).split('.')
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), {
    alg: 'A256KW',
    enc: 'A256GCM',
    kid: kek.kid,
    typ: 'holdfast-secret',
    ctx: context,
  })
  const wrap = createDecipheriv('id-aes256-wrap', bytes, Buffer.alloc(8, 0xa6))
  const cek = Buffer.concat([wrap.update(wrapped, 'base64url'), wrap.final()])
  const gcm = createDecipheriv('aes-256-gcm', cek, Buffer.from(iv, 'base64url'))
  gcm.setAAD(Buffer.from(header)).setAuthTag(Buffer.from(tag, 'base64url'))
  assert.equal(gcm.update(ciphertext, 'base64url', 'utf8') + gcm.final('utf8'), 'secret')
})

test('a value sealed by another key-encryption key is refused by key id', async () => {
  const jwe = await seal(kek, context, Buffer.from('secret'))
  const other = openKek(randomBytes(32))
  assert.equal(sealedKid(jwe), kek.kid)
  assert.notEqual(other.kid, kek.kid)
  await assert.rejects(unseal(other, context, jwe), { code: 'unknown_key' })
  await assert.rejects(unseal({ ...other, kid: kek.kid }, context, jwe), { code: 'bad_signature' })
})

test('several keys open each their own values, and the first one seals', async () => {
  const other = randomBytes(32)
  const [before, both, after] = [openKek(other), openKek(bytes, [other]), openKek(bytes)]
  const old = await seal(before, context, Buffer.from('secret'))
  assert.equal((await unseal(both, context, old)).toString(), 'secret')
  assert.equal(sealedKid(await seal(both, context, Buffer.from('x'))), kek.kid)
  await assert.rejects(unseal(after, context, old), { code: 'unknown_key' })

  const anew = await reseal(both, old)
  assert.equal((await unseal(after, context, anew)).toString(), 'secret')
  await assert.rejects(unseal(after, 'signing_key/sgn_02/private_jwk', anew), { code: 'wrong_context' })
  await assert.rejects(reseal(after, old), { code: 'unknown_key' })
  const at = old.lastIndexOf('.') - 1
  const altered = `${old.slice(0, at)}${old[at] === 'A' ? 'B' : 'A'}${old.slice(at + 1)}`
  await assert.rejects(reseal(both, altered), { code: 'bad_signature' })
})

test('the sealed text begins with the key id, in any context', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.string({ maxLength: 99 }),
      async (key, place) => {
        const own = openKek(key)
        const jwe = await seal(own, place, Buffer.from('x'))
        assert.ok(jwe.startsWith(sealedPrefix(own.kid)))
        assert.ok(Buffer.from(sealedPrefix(own.kid), 'base64url').toString().includes(`"kid":"${own.kid}"`))
        assert.equal(sealedPrefix(own.kid).length, sealedPrefix(kek.kid).length)
      },
    ),
    { numRuns: 30 },
  )
})

test('any changed character is refused', async () => {
  const jwe = await seal(kek, context, Buffer.from('secret'))
  await fc.assert(
    fc.asyncProperty(fc.nat(jwe.length - 1), fc.constantFrom(...'ABCDwxyz0189-_.='), async (at, character) => {
      fc.pre(jwe[at] !== character)
      const altered = jwe.slice(0, at) + character + jwe.slice(at + 1)
      await assert.rejects(unseal(kek, context, altered), { name: 'CryptoError' })
    }),
    { numRuns: 300 },
  )
})

test('a JWE of another type or algorithm is refused, even under the right key', async () => {
  const make = (header: { alg: string; enc: string; typ?: string }) =>
    new CompactEncrypt(Buffer.from('x')).setProtectedHeader({ kid: kek.kid, ctx: context, ...header }).encrypt(bytes)
  const typ = 'holdfast-secret'
  await assert.rejects(unseal(kek, context, await make({ alg: 'A256KW', enc: 'A256GCM' })), { code: 'wrong_type' })
  await assert.rejects(unseal(kek, context, await make({ alg: 'dir', enc: 'A256GCM', typ })), { code: 'bad_algorithm' })
  await assert.rejects(unseal(kek, context, await make({ alg: 'A256GCMKW', enc: 'A256GCM', typ })), {
    code: 'bad_algorithm',
  })
  await assert.rejects(unseal(kek, context, await make({ alg: 'A256KW', enc: 'A128GCM', typ })), {
    code: 'bad_algorithm',
  })
  for (const text of ['', 'plain', 'a.b.c.d.e', '{"ciphertext":""}']) {
    await assert.rejects(unseal(kek, context, text), { code: 'malformed' })
  }
})

test('a key-encryption key has 32 bytes and does not print them', () => {
  assert.throws(() => openKek(Buffer.alloc(16)), RangeError)
  for (const shown of [inspect(kek, { depth: 9 }), JSON.stringify(kek)]) {
    assert.ok(!shown.includes('0909') && !shown.includes(bytes.toString('base64')) && !shown.includes('9,9'), shown)
  }
})
