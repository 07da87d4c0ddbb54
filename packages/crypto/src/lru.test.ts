import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLru } from './lru.ts'

test('the least recently used entry goes first, and the size never exceeds the capacity', () => {
  const lru = createLru<string, number>(3)
  for (const [value, key] of ['a', 'b', 'c'].entries()) lru.set(key, value)
  assert.equal(lru.get('a'), 0)
  lru.set('d', 3)
  assert.equal(lru.get('b'), undefined)
  assert.deepEqual([lru.get('a'), lru.get('c'), lru.get('d')], [0, 2, 3])
  lru.set('a', 9)
  assert.equal(lru.size, 3)
  assert.equal(lru.get('a'), 9)
  for (let i = 0; i < 100; i++) lru.set(`k${i}`, i)
  assert.equal(lru.size, 3)
})
