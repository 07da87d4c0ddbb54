import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flatten, toCsv } from './csv.ts'

test('a row is flattened: nested fields by path, lists joined by blanks, null as an empty cell', () => {
  assert.deepEqual(flatten({ name: 'a', tags: ['x', 'y'], policy: { digest: null, seq: 4 }, online: true }), {
    name: 'a',
    tags: 'x y',
    'policy.digest': '',
    'policy.seq': '4',
    online: 'true',
  })
})

test('commas, quotes and line breaks are quoted (RFC 4180), and every row has all columns', () => {
  assert.equal(toCsv([{ name: 'a,"b"' }, { note: 'two\nlines' }]), 'name,note\r\n"a,""b""",\r\n,"two\nlines"')
})

test('no cell is a formula', () => {
  for (const text of ['=1+1', '+1', '-1', '@x', '\tx']) assert.match(toCsv([{ a: text }]), /^a\r\n'/, text)
})
