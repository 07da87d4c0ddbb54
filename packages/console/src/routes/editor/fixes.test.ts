import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseText } from '../../editor/document.ts'
import { fixOf } from './fixes.ts'

const parsed = parseText('{ "rules": [ { "form": { "any": true }, "to": ["bd:tcp/5432"] } ] }')

test('a suggested name replaces a value or the name of a field', () => {
  const value = { field: 'rules[0].to[0]', message: 'unknown resource or host "bd". Did you mean "db"?' }
  assert.deepEqual(fixOf(parsed, value), { label: 'Use db', text: parsed.text.replace('bd:', 'db:') })
  const field = { field: 'rules[0].form', message: 'unknown field "form". Did you mean "from"? Fields here: from, id' }
  assert.deepEqual(fixOf(parsed, field), { label: 'Use from', text: parsed.text.replace('form', 'from') })
})

test('a message without a suggestion has no fix', () => {
  assert.equal(fixOf(parsed, { field: 'rules[0].to', message: 'must have at least one entry' }), undefined)
})
