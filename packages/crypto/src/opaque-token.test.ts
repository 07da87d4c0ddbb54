import assert from 'node:assert/strict'
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { decodeUuid62, encodeUuid62, toBase62 } from './base62.ts'
import {
  challengeEnd,
  enrollmentNonce,
  equalDigest,
  isStoredAs,
  mintChallenge,
  mintToken,
  readToken,
  type TokenPrefix,
} from './opaque-token.ts'
import { createPeppers, digestSecret, digestsOfSecret, type Peppers, storedDigests, takenTo } from './peppers.ts'

const base62 = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
const prefix = fc.constantFrom<TokenPrefix>('hfk', 'hfg', 'hfe', 'hfc', 'hfs', 'hfl', 'hfr')
const keyOf = (byte: number) => createSecretKey(Buffer.alloc(32, byte))
const peppersOf = (current: number, ...keys: { key: KeyObject; isRetired?: boolean }[]) =>
  createPeppers(
    keys.map(({ key, isRetired = false }) => ({ key, isRetired })),
    current,
  )
const [old, young] = [{ key: keyOf(7) }, { key: keyOf(8) }]
const peppers = peppersOf(1, old)
const tenant = '019c8f00-1234-7abc-8def-0123456789ab'
const mint = (kind: TokenPrefix = 'hfk', of = tenant) => mintToken(peppers, kind, of)
/** Adds a valid checksum, so that only the MAC can refuse the token. */
const withChecksum = (body: string) => body + toBase62(BigInt(crc32(body)), 6)

test('a minted token reveals its prefix, tenant and id, and its stored digest', () => {
  fc.assert(
    fc.property(prefix, fc.uuid(), (kind, of) => {
      const { hint, ...presented } = mint(kind, of)
      const { token } = presented
      assert.match(token, /^hf[kgecslr]_[0-9A-Za-z]{76}$/)
      assert.deepEqual(readToken(peppers, token), presented)
      assert.deepEqual([presented.prefix, presented.tenant], [kind, of])
      assert.ok(token.startsWith(`${kind}_${encodeUuid62(of)}${presented.id}1`) && token.endsWith(hint))
    }),
  )
})

test('a token of known parts has a fixed MAC and checksum', () => {
  const signed = `hfk_${'0'.repeat(21)}1${'A'.repeat(16)}1${'z'.repeat(21)}`
  const digest = createHmac('sha256', old.key).update(signed).digest()
  const token = withChecksum(signed + toBase62(digest.readBigUInt64BE(0), 10))
  const id = 'A'.repeat(16)
  const one = '00000000-0000-0000-0000-000000000001'
  assert.deepEqual(readToken(peppers, token), { prefix: 'hfk', tenant: one, id, version: 1, digest, token })
})

test('any changed character is refused by the checksum, or by the MAC if the checksum was recomputed', () => {
  fc.assert(
    fc.property(prefix, fc.nat(79), fc.constantFrom(...base62), (kind, at, character) => {
      const { token } = mint(kind)
      fc.pre(token[at] !== character)
      const changed = token.slice(0, at) + character + token.slice(at + 1)
      assert.equal(readToken(peppers, changed), undefined)
      if (at < 74) assert.equal(readToken(peppers, withChecksum(changed.slice(0, -6))), undefined)
    }),
    { numRuns: 2000 },
  )
})

test('an invented token with a right checksum is refused, as is one of another pepper or version', () => {
  const { token } = mint()
  assert.equal(readToken(peppersOf(1, young), token), undefined)
  const other = `${token.slice(0, 42)}2${token.slice(43, -6)}`
  assert.equal(readToken(peppers, withChecksum(other)), undefined)
  for (let i = 0; i < 2000; i++) {
    const random = [...randomBytes(31)].map((byte) => base62[byte % 62]).join('')
    assert.equal(readToken(peppers, withChecksum(`${token.slice(0, 43)}${random}`)), undefined)
  }
})

test('a text of another length, alphabet, case or prefix, or with spaces around it, is refused', () => {
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
    assert.equal(readToken(peppers, text), undefined, JSON.stringify(text))
})

test('a challenge carries its end to the second, and cannot be changed into another token', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }),
      fc.uuid(),
      (end, of) => {
        const { token } = mintChallenge(peppers, of, end)
        const read = readToken(peppers, token)!
        assert.deepEqual([read.prefix, read.tenant], ['hfc', of])
        assert.equal(challengeEnd(read).getTime(), Math.floor(end.getTime() / 1000) * 1000)
        const later = `${token.slice(0, 32)}${token[32] === '1' ? '2' : '1'}${token.slice(33, -6)}`
        assert.equal(readToken(peppers, withChecksum(later)), undefined)
      },
    ),
  )
  const end = new Date()
  assert.notEqual(mintChallenge(peppers, tenant, end).token, mintChallenge(peppers, tenant, end).token)
})

test('the nonce of an enrollment is the SHA-256 of challenge, dot, thumbprint', () => {
  const expected = 'l24XTAEt358PKqGYObgHh-oCCd7gHS3M7JW7c6X68J8'
  assert.equal(enrollmentNonce('hfc_x', 'abc'), expected)
})

test('22 base62 characters are one UUID or are refused', () => {
  fc.assert(fc.property(fc.uuid(), (uuid) => assert.equal(decodeUuid62(encodeUuid62(uuid)), uuid)))
  assert.equal(encodeUuid62('ffffffff-ffff-ffff-ffff-ffffffffffff'), '7n42DGM5Tflk9n8mt7Fhc7')
  for (const none of ['7n42DGM5Tflk9n8mt7Fhc8', 'z'.repeat(22), '0'.repeat(21), '0'.repeat(23), `${'0'.repeat(21)}-`])
    assert.equal(decodeUuid62(none), undefined, none)
})

test('all characters of the alphabet are drawn about equally often', () => {
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

test('a token is verified with the pepper that it names only, also after the current one has changed', () => {
  const before = mint().token
  for (const now of [
    peppersOf(1, old, young),
    peppersOf(2, old, young),
    peppersOf(2, { ...old, isRetired: true }, young),
  ])
    assert.equal(readToken(now, before)?.version, 1)
  const after = mintToken(peppersOf(2, old, young), 'hfk', tenant).token
  assert.equal(after[42], '2')
  assert.equal(readToken(peppersOf(1, old, young), after)?.version, 2)
  assert.equal(readToken(peppers, after), undefined, 'a pepper that is not known')
  assert.equal(readToken(peppersOf(2, young, old), after), undefined, 'another key of that version')
})

test('the version of a token is authenticated', () => {
  const all = peppersOf(2, old, young, { key: keyOf(9) })
  fc.assert(
    fc.property(prefix, fc.constantFrom(...base62), (kind, character) => {
      const { token } = mintToken(all, kind, tenant)
      fc.pre(character !== '2')
      assert.equal(readToken(all, withChecksum(`${token.slice(0, 42)}${character}${token.slice(43, -6)}`)), undefined)
    }),
  )
})

test('tokens without a lasting row end with their pepper; stored tokens do not', () => {
  const retired = peppersOf(2, { ...old, isRetired: true }, young)
  const outlives = (kind: TokenPrefix) => readToken(retired, mint(kind).token) !== undefined
  const kinds: TokenPrefix[] = ['hfk', 'hfg', 'hfe', 'hfs', 'hfc', 'hfl', 'hfr']
  assert.deepEqual(kinds.filter(outlives), ['hfk', 'hfg', 'hfe', 'hfs'])
})

test('a stored digest is recognised under every active pepper, and rewritten without the token', () => {
  const [both, alone] = [peppersOf(2, old, young), peppersOf(2, { ...old, isRetired: true }, young)]
  const { token, digest } = mint()
  const taken = takenTo(both, { digest, version: 1 }, 2)
  assert.deepEqual(taken, createHmac('sha256', young.key).update(digest).digest())
  const known = (now: Peppers, stored: Buffer) => isStoredAs(now, readToken(now, token)!, stored)
  assert.deepEqual([known(both, digest), known(both, taken), known(peppers, digest)], [true, true, true])
  assert.deepEqual([known(alone, digest), known(alone, taken)], [false, true])
  assert.ok(!known(both, mint().digest) && !known(both, Buffer.alloc(0)))
})

test('a digest is the same after rewriting step by step or at once', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 61 }), fc.nat(60), fc.nat(60), (count, a, b) => {
      const from = 1 + (Math.min(a, b) % count)
      const all = peppersOf(count, ...Array.from({ length: count }, (_, i) => ({ key: keyOf(i + 1) })))
      const minted = mintToken(peppersOf(from, ...all.all), 'hfs', tenant)
      let digest = minted.digest
      for (let version = from; version < count; version++) digest = takenTo(all, { digest, version }, version + 1)
      assert.deepEqual(takenTo(all, { digest: minted.digest, version: from }, count), digest)
      const read = readToken(all, minted.token)!
      assert.deepEqual(storedDigests(all, read)[0], digest)
      assert.equal(storedDigests(all, read).length, count - from + 1)
      assert.deepEqual(storedDigests(all, read).at(-1), minted.digest)
    }),
    { numRuns: 50 },
  )
})

test('a secret that names no pepper is compared under every possible one', () => {
  const both = peppersOf(2, old, young)
  const made = digestSecret(peppers, 'x')
  assert.deepEqual(made, { digest: createHmac('sha256', old.key).update('x').digest(), version: 1 })
  const known = (now: Peppers) => digestsOfSecret(now, 'x').map((d) => d.toString('hex'))
  for (const stored of [made.digest, takenTo(both, made, 2), digestSecret(both, 'x').digest])
    assert.ok(known(both).includes(stored.toString('hex')))
  assert.equal(known(both).length, 3)
  assert.ok(!known(peppersOf(2, { ...old, isRetired: true }, young)).includes(made.digest.toString('hex')))
})

test('peppers have a minimum length and a maximum number, and one of them mints', () => {
  assert.throws(() => peppersOf(1, { key: createSecretKey(Buffer.alloc(8)) }), RangeError)
  assert.throws(() => peppersOf(1, ...Array.from({ length: 62 }, () => old)), RangeError)
  for (const current of [0, 2]) assert.throws(() => peppersOf(current, old), RangeError)
  assert.throws(() => peppersOf(1, { ...old, isRetired: true }), RangeError)
  assert.ok(equalDigest(Buffer.alloc(32), Buffer.alloc(32)) && !equalDigest(Buffer.alloc(32), Buffer.alloc(31)))
})
