import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseStrictObject } from './strict-json.ts'

const parse = (text: string) => parseStrictObject(Buffer.from(text), 'it')

test('strict JSON reads any object that JSON can write', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (value) => {
      const text = JSON.stringify(value)
      assert.deepEqual(parse(text), JSON.parse(text))
    }),
  )
})

test('strict JSON refuses duplicate members at every level, escaped spellings included', () => {
  for (const text of [
    '{"alg":"a","alg":"b"}',
    '{"a":1,"\\u0061":1}',
    '{"x":{"a":1,"a":1}}',
    '{"x":[{"a":1,"a":2}]}',
    '{"__proto__":1,"__proto__":2}',
  ]) {
    assert.throws(() => parse(text), { code: 'malformed' }, text)
  }
})

test('strict JSON refuses other values than objects, broken JSON or UTF-8, and deep nesting', () => {
  for (const text of ['', 'null', '[]', '"a"', '1', '{', '{"a":1}{', '\uFEFF{}', '{"a":"', '{"a":"\\']) {
    assert.throws(() => parse(text), { code: 'malformed' }, text)
  }
  assert.throws(() => parseStrictObject(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'it'), {
    code: 'malformed',
  })
  assert.throws(() => parse(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), { code: 'malformed' })
})
