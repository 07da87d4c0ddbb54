import assert from 'node:assert/strict'
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { decodeUuid62, encodeUuid62, toBase62 } from './base62.ts'
import {
  challengeEnd,
  digestToken,
  enrollmentNonce,
  equalDigest,
  mintChallenge,
  mintToken,
  readToken,
  type TokenPrefix,
} from './opaque-token.ts'

const base62 = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
const prefix = fc.constantFrom<TokenPrefix>('hfk', 'hfg', 'hfe', 'hfc', 'hfs', 'hfl', 'hfr')
const pepper = createSecretKey(Buffer.alloc(32, 7))
const otherPepper = createSecretKey(Buffer.alloc(32, 8))
const tenant = '019c8f00-1234-7abc-8def-0123456789ab'
const mint = (kind: TokenPrefix = 'hfk', of = tenant) => mintToken(pepper, kind, of)
/** With a checksum that fits, so that only the MAC can refuse it. */
const withChecksum = (body: string) => body + toBase62(BigInt(crc32(body)), 6)

test('a minted token says its prefix, tenant and id, and what is stored of it', () => {
  fc.assert(
    fc.property(prefix, fc.uuid(), (kind, of) => {
      const { hint, ...presented } = mint(kind, of)
      const { token } = presented
      assert.match(token, /^hf[kgecslr]_[0-9A-Za-z]{76}$/)
      assert.deepEqual(readToken(pepper, token), presented)
      assert.deepEqual([presented.prefix, presented.tenant], [kind, of])
      assert.ok(token.startsWith(`${kind}_${encodeUuid62(of)}${presented.id}1`) && token.endsWith(hint))
    }),
  )
})

test('the format is fixed: a token of known parts has this MAC and this checksum', () => {
  const signed = `hfk_${'0'.repeat(21)}1${'A'.repeat(16)}1${'z'.repeat(21)}`
  const digest = createHmac('sha256', pepper).update(signed).digest()
  const token = withChecksum(signed + toBase62(digest.readBigUInt64BE(0), 10))
  const id = 'A'.repeat(16)
  const one = '00000000-0000-0000-0000-000000000001'
  assert.deepEqual(readToken(pepper, token), { prefix: 'hfk', tenant: one, id, digest, token })
})

test('any one changed character is refused, by the checksum, and by the MAC where the checksum was made to fit', () => {
  fc.assert(
    fc.property(prefix, fc.nat(79), fc.constantFrom(...base62), (kind, at, character) => {
      const { token } = mint(kind)
      fc.pre(token[at] !== character)
      const changed = token.slice(0, at) + character + token.slice(at + 1)
      assert.equal(readToken(pepper, changed), undefined)
      if (at < 74) assert.equal(readToken(pepper, withChecksum(changed.slice(0, -6))), undefined)
    }),
    { numRuns: 2000 },
  )
})

test('an invented token with a right checksum is refused, and so is one of another pepper or key version', () => {
  const { token } = mint()
  assert.equal(readToken(otherPepper, token), undefined)
  const other = `${token.slice(0, 42)}2${token.slice(43, -6)}`
  assert.equal(readToken(pepper, withChecksum(other)), undefined)
  for (let i = 0; i < 2000; i++) {
    const random = [...randomBytes(31)].map((byte) => base62[byte % 62]).join('')
    assert.equal(readToken(pepper, withChecksum(`${token.slice(0, 43)}${random}`)), undefined)
  }
})

test('another length, another alphabet, surrounding space, another case or another prefix is no token', () => {
  const { token } = mint()
  const flipped = [...token].map((c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase())).join('')
  for (const text of [
    '',
    token.slice(1),
    token.slice(0, -1),
    `${token}0`,
    ` ${token}`,
    `${token}\n`,
    `hfx${token.slice(3)}`,
    `hfe${token.slice(3)}`,
    token.replace('_', '-'),
    flipped,
    token.toLowerCase(),
  ])
    assert.equal(readToken(pepper, text), undefined, JSON.stringify(text))
})

test('a challenge says when it ends, to the second, and no other token can be made of it', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
      fc.uuid(),
      (end, of) => {
        const { token } = mintChallenge(pepper, of, end)
        const read = readToken(pepper, token)!
        assert.deepEqual([read.prefix, read.tenant], ['hfc', of])
        assert.equal(challengeEnd(read).getTime(), Math.floor(end.getTime() / 1000) * 1000)
        const later = `${token.slice(0, 32)}${token[32] === '1' ? '2' : '1'}${token.slice(33, -6)}`
        assert.equal(readToken(pepper, withChecksum(later)), undefined)
      },
    ),
  )
  const end = new Date()
  assert.notEqual(mintChallenge(pepper, tenant, end).token, mintChallenge(pepper, tenant, end).token)
})

test('the nonce of an enrollment is the SHA-256 of challenge, dot, thumbprint', () => {
  const expected = 'l24XTAEt358PKqGYObgHh-oCCd7gHS3M7JW7c6X68J8'
  assert.equal(enrollmentNonce('hfc_x', 'abc'), expected)
})

test('22 characters are one UUID or none', () => {
  fc.assert(fc.property(fc.uuid(), (uuid) => assert.equal(decodeUuid62(encodeUuid62(uuid)), uuid)))
  assert.equal(encodeUuid62('ffffffff-ffff-ffff-ffff-ffffffffffff'), '7n42DGM5Tflk9n8mt7Fhc7')
  for (const none of ['7n42DGM5Tflk9n8mt7Fhc8', 'z'.repeat(22), '0'.repeat(21), '0'.repeat(23), `${'0'.repeat(21)}-`])
    assert.equal(decodeUuid62(none), undefined, none)
})

test('every character of the alphabet is drawn about equally often', () => {
  const counts = new Map(base62.map((character) => [character, 0]))
  const draws = 4000
  const randomOf = (token: string) => token.slice(26, 42) + token.slice(43, 64)
  for (let i = 0; i < draws; i++)
    for (const character of randomOf(mint().token)) counts.set(character, (counts.get(character) ?? 0) + 1)
  const expected = (draws * 37) / 62
  const chiSquare = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
  // 61 degrees of freedom: above 140 has a probability below 1e-7. Taking bytes modulo 62 without rejection gives about
  // 400.
  assert.ok(chiSquare < 140, `chi-square ${chiSquare}`)
})

test('the digest is HMAC-SHA-256 under the pepper; a short pepper is refused', () => {
  assert.deepEqual(digestToken(pepper, 'x'), createHmac('sha256', pepper).update('x').digest())
  assert.ok(equalDigest(digestToken(pepper, 'x'), digestToken(pepper, 'x')))
  assert.ok(!equalDigest(digestToken(pepper, 'x'), digestToken(otherPepper, 'x')))
  assert.ok(!equalDigest(Buffer.alloc(32), Buffer.alloc(31)))
  assert.throws(() => digestToken(createSecretKey(Buffer.alloc(8)), 'x'), RangeError)
})
