import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { digestToken, equalDigest, mintSecret, mintToken, parseToken, type TokenPrefix } from './opaque-token.ts'

const base62 = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
const prefix = fc.constantFrom<TokenPrefix>('hfk', 'hfg', 'hfe')

test('a minted token parses to its prefix and id', () => {
  fc.assert(
    fc.property(prefix, (kind) => {
      const { token, id, hint } = mintToken(kind)
      assert.match(token, /^hf[kge]_[0-9A-Za-z]{54}$/)
      assert.deepEqual(parseToken(token), { prefix: kind, id })
      assert.ok(token.startsWith(`${kind}_${id}`) && token.endsWith(hint) && hint.length === 4)
    }),
  )
})

test('the format is fixed: a token of known parts has this checksum', () => {
  // CRC-32 of the first 52 characters, computed with Python's zlib.crc32, in base62.
  const body = `hfk_${'A'.repeat(16)}${'z'.repeat(32)}`
  assert.deepEqual(parseToken(`${body}2xANWv`), { prefix: 'hfk', id: 'A'.repeat(16) })
})
test('any one changed character fails the checksum', () => {
  fc.assert(
    fc.property(prefix, fc.nat(57), fc.constantFrom(...base62), (kind, at, character) => {
      const { token } = mintToken(kind)
      fc.pre(token[at] !== character)
      assert.equal(parseToken(token.slice(0, at) + character + token.slice(at + 1)), undefined)
    }),
    { numRuns: 2000 },
  )
})

test('another length, another alphabet, surrounding space or another prefix is no token', () => {
  const { token } = mintToken('hfk')
  for (const text of [
    '',
    token.slice(1),
    `${token}0`,
    ` ${token}`,
    `${token}\n`,
    `hfx${token.slice(3)}`,
    token.replace('_', '-'),
  ]) {
    assert.equal(parseToken(text), undefined, JSON.stringify(text))
  }
})

test('a token relabelled as another kind fails the checksum', () => {
  const { token } = mintToken('hfe')
  assert.equal(parseToken(`hfk${token.slice(3)}`), undefined)
})

test('every character of the alphabet is drawn about equally often', () => {
  const counts = new Map(base62.map((character) => [character, 0]))
  const draws = 4000
  for (let i = 0; i < draws; i++) {
    for (const character of mintToken('hfk').token.slice(4, 52)) counts.set(character, (counts.get(character) ?? 0) + 1)
  }
  const expected = (draws * 48) / 62
  const chiSquare = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
  // 61 degrees of freedom: above 140 has a probability below 1e-7. Taking bytes modulo 62 without rejection gives about 500.
  assert.ok(chiSquare < 140, `chi-square ${chiSquare}`)
})

test('the digest is HMAC-SHA-256 under the pepper; a short pepper is refused', () => {
  const pepper = Buffer.alloc(32, 7)
  const { token } = mintToken('hfg')
  assert.deepEqual(digestToken(pepper, token), createHmac('sha256', pepper).update(token).digest())
  assert.ok(equalDigest(digestToken(pepper, token), digestToken(pepper, token)))
  assert.ok(!equalDigest(digestToken(pepper, token), digestToken(Buffer.alloc(32, 8), token)))
  assert.ok(!equalDigest(Buffer.alloc(32), Buffer.alloc(31)))
  assert.throws(() => digestToken(Buffer.alloc(8), token), RangeError)
})

test('a session secret has 256 bits and never repeats', () => {
  const secrets = new Set(Array.from({ length: 1000 }, mintSecret))
  assert.equal(secrets.size, 1000)
  for (const secret of secrets) assert.equal(Buffer.from(secret, 'base64url').length, 32)
})
