import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addAll,
  addSparse,
  equalBits,
  hasBit,
  hashBits,
  membersOf,
  removeSparse,
  setBit,
  toSparse,
  wordsFor,
} from './bits.ts'

const size = 200
const indices = fc.uniqueArray(fc.nat({ max: size - 1 }))
const bitsOf = (members: Iterable<number>): Uint32Array => {
  const bits = new Uint32Array(wordsFor(size))
  for (const member of members) setBit(bits, member)
  return bits
}
const sorted = (members: Iterable<number>): number[] => [...members].sort((a, b) => a - b)

test('bit sets behave as sets of small numbers', () => {
  fc.assert(
    fc.property(indices, indices, (a, b) => {
      const [left, right] = [new Set(a), new Set(b)]
      const union = bitsOf(a)
      addSparse(union, toSparse(bitsOf(b)))
      assert.deepEqual(membersOf(union), sorted(left.union(right)))
      const both = bitsOf(a)
      addAll(both, bitsOf(b))
      assert.ok(equalBits(union, both))
      assert.equal(hashBits(union), hashBits(both))
      const difference = bitsOf(a)
      removeSparse(difference, toSparse(bitsOf(b)))
      assert.deepEqual(membersOf(difference), sorted(left.difference(right)))
      assert.equal(equalBits(bitsOf(a), bitsOf(b)), left.symmetricDifference(right).size === 0)
      for (let i = 0; i < size; i++) assert.equal(hasBit(union, i), left.has(i) || right.has(i))
    }),
  )
})
