import assert from 'node:assert/strict'
import { test } from 'node:test'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { canonicalJson, contentDigest, isInOrder, sha256Hex } from './canonical.ts'

test('RFC 8785 section 3.2.2: literals, numbers and strings', () => {
  const input: unknown = JSON.parse(
    String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
  )
  assert.equal(
    canonicalJson(input),
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  )
})

test('RFC 8785 section 3.2.3: members sort by UTF-16 code units', () => {
  const input: unknown = JSON.parse(
    String.raw`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
  )
  assert.deepEqual(
    Array.from(canonicalJson(input).matchAll(/":"([^"]+)"/g), (match) => match[1]),
    [
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ],
  )
})

test('RFC 8785 appendix B: numbers from their IEEE 754 bits', () => {
  const vectors = {
    '0000000000000000': '0',
    '8000000000000000': '0',
    '0000000000000001': '5e-324',
    '8000000000000001': '-5e-324',
    '7fefffffffffffff': '1.7976931348623157e+308',
    '4340000000000000': '9007199254740992',
    c340000000000000: '-9007199254740992',
    '4430000000000000': '295147905179352830000',
    '44b52d02c7e14af5': '9.999999999999997e+22',
    '44b52d02c7e14af6': '1e+23',
    '444b1ae4d6e2ef4e': '999999999999999700000',
    '444b1ae4d6e2ef50': '1e+21',
    '3eb0c6f7a0b5ed8c': '9.999999999999997e-7',
    '3eb0c6f7a0b5ed8d': '0.000001',
    '41b3de4355555553': '333333333.3333332',
  }
  for (const [bits, text] of Object.entries(vectors))
    assert.equal(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE()), text)
  assert.throws(() => canonicalJson(Number.NaN), { code: 'malformed' })
  assert.throws(() => canonicalJson(Number.POSITIVE_INFINITY), { code: 'malformed' })
})

/** Returns the same value with the members of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  )
}

test('the order of members does not matter, and the text parses to the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      assert.equal(canonicalJson(reversed(value)), canonicalJson(value))
      assert.equal(contentDigest(reversed(value)), contentDigest(value))
      const again: unknown = JSON.parse(canonicalJson(value))
      assert.equal(canonicalJson(again), canonicalJson(value))
    }),
  )
})

test('isInOrder accepts exactly canonical values, and they are written as the library writes them', () => {
  const anything = fc.anything({ withDate: true, withNullPrototype: true, withSparseArray: true, maxDepth: 3 })
  const sorted = (value: unknown): unknown => JSON.parse(canonicalJson(value))
  fc.assert(
    fc.property(
      fc.oneof(anything, fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }).map(sorted)),
      (value) => {
        if (isInOrder(value)) assert.equal(JSON.stringify(value), canonicalize(value))
      },
    ),
    { numRuns: 2000 },
  )
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.integer()), (value) => {
      const members = sorted(value)
      const isNumeral = Object.keys(value).some((name) => /^(0|[1-9]\d*)$/.test(name))
      assert.ok(isNumeral || isInOrder(members), 'but where the engine puts numerals first')
    }),
  )
  for (const value of [
    undefined,
    Number.NaN,
    '\ud800',
    { b: 1, a: 1 },
    { '9': 1, '10': 1 },
    [new Date()],
    { '\ud800': 1 },
  ])
    assert.equal(isInOrder(value), false)
})

test('64 levels of nesting are written; 65 levels, 100,000 levels and cycles are refused', () => {
  const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  assert.equal(canonicalJson(nested(64)), '['.repeat(64) + ']'.repeat(64))
  for (const levels of [65, 100_000]) assert.throws(() => canonicalJson(nested(levels)), { code: 'malformed' })
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  assert.throws(() => canonicalJson(cycle), { code: 'malformed' })
})

test('values outside of JSON are refused', () => {
  for (const value of [undefined, () => 1, 1n, '\ud800', { a: '\udfff' }]) {
    assert.throws(() => canonicalJson(value), { code: 'malformed' })
  }
})

test('digests name their algorithm', () => {
  assert.equal(sha256Hex('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  assert.equal(contentDigest({}), `sha256:${sha256Hex('{}')}`)
})
