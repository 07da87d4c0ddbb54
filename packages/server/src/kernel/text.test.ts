import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isStorable, storable, storableJson } from './text.ts'

const anything = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((n) => String.fromCharCode(n)),
  maxLength: 40,
})

test('characters that PostgreSQL cannot store are replaced, and no others', () => {
  assert.equal(storable('a\0b\ud83d', 10), 'a\ufffdb\ufffd')
  assert.equal(storable('plain text \\u0000 😀', 100), 'plain text \\u0000 😀')
  assert.equal(storable('1234😀', 5), '1234')
  assert.equal(storable('1234😀', 6), '1234😀')
  fc.assert(
    fc.property(anything, fc.integer({ min: 1, max: 50 }), (text, max) => {
      const kept = storable(text, max)
      assert.ok(isStorable(kept) && kept.length <= max)
      if (isStorable(text) && text.length <= max) assert.equal(kept, text)
    }),
  )
})

test('JSON is unchanged except for characters that jsonb refuses, in values and names', () => {
  assert.equal(
    storableJson({ 'a\0': ['\ud800', '\\u0000', '\n', '\u001f', '"'] }),
    '{"a\ufffd":["\ufffd","\\\\u0000","\\n","\\u001f","\\""]}',
  )
  fc.assert(
    fc.property(fc.dictionary(anything, fc.array(anything)), (value) => {
      const back: unknown = JSON.parse(storableJson(value))
      assert.ok(!/\\u0000|\\ud[89a-f]/.test(JSON.stringify(back).replaceAll('\\\\', '')))
      if (isStorable(JSON.stringify(value)) && !/\\u(0000|d)/.test(JSON.stringify(value)))
        assert.deepEqual(back, JSON.parse(JSON.stringify(value)))
    }),
  )
})
