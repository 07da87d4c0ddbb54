import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createByteCache } from './byte-cache.ts'

const value = (length: number) => ({ bytes: Buffer.alloc(length) })

test('the oldest entries are evicted at the limit, and an entry above the limit is not cached', () => {
  const cache = createByteCache({ maxBytes: 100, maxAgeMs: 60_000, nowMs: () => 0 })
  cache.set('a', value(40))
  cache.set('b', value(40))
  cache.set('c', value(40))
  cache.set('d', value(101))
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((k) => cache.get(k) !== undefined),
    [false, true, true, false],
  )
  assert.equal(cache.heldBytes(), 80)
})

test('a replaced entry counts once', () => {
  const cache = createByteCache({ maxBytes: 100, maxAgeMs: 60_000, nowMs: () => 0 })
  cache.set('a', value(90))
  cache.set('a', value(30))
  assert.equal(cache.heldBytes(), 30)
})

test('an entry beyond its maximum age is dropped', () => {
  let now = 0
  const cache = createByteCache({ maxBytes: 100, maxAgeMs: 5, nowMs: () => now })
  cache.set('a', value(10))
  now = 4
  assert.ok(cache.get('a'))
  now = 5
  assert.equal(cache.get('a'), undefined)
  assert.equal(cache.heldBytes(), 0)
})
