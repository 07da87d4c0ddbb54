import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { rangeOf } from './range.ts'

test('a range is read from the front or the back, and cut at the end', () => {
  assert.deepEqual(rangeOf('bytes=0-0', 10), { first: 0, last: 0 })
  assert.deepEqual(rangeOf('bytes=2-5', 10), { first: 2, last: 5 })
  assert.deepEqual(rangeOf('Bytes=7-', 10), { first: 7, last: 9 })
  assert.deepEqual(rangeOf('bytes=5-999', 10), { first: 5, last: 9 })
  assert.deepEqual(rangeOf('bytes=-3', 10), { first: 7, last: 9 })
  assert.deepEqual(rangeOf('bytes=-99', 10), { first: 0, last: 9 })
})

test('several parts, other units and malformed ranges give the whole file', () => {
  for (const range of [
    undefined,
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=5-2',
    'bytes=0-1,3-4',
    'lines=1-2',
    'bytes=a-b',
  ])
    assert.equal(rangeOf(range, 10), undefined, range)
  assert.equal(rangeOf(`bytes=${Array(1000).fill('0-0').join(',')}`, 10), undefined)
  assert.equal(rangeOf(`bytes=${'9'.repeat(20)}-`, 10), undefined, 'more digits than any file has')
})

test('a range outside of the file is unsatisfiable', () => {
  for (const range of ['bytes=10-', 'bytes=10-11', 'bytes=-0']) assert.equal(rangeOf(range, 10), 'unsatisfiable', range)
  assert.equal(rangeOf('bytes=0-', 0), 'unsatisfiable')
})

test('no range reaches beyond the file', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^bytes=\d{0,6}-\d{0,6}$/))
  fc.assert(
    fc.property(text, fc.nat({ max: 100_000 }), (range, size) => {
      const found = rangeOf(range, size)
      if (typeof found !== 'object') return
      assert.ok(found.first >= 0 && found.first <= found.last && found.last < size)
    }),
  )
})
