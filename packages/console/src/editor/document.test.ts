import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { textOf } from '../policy/text.ts'
import { editText, fieldOf, formatText, insertText, moveIn, parseText, pathOf, rangeAt } from './document.ts'

const text = `{
  "schema": "holdfast.policy/1",
  "rules": [
    { "id": "a",   "action": "allow", "to": ["wiki", "gti"] },
    { "id": "b", "action": "deny", "to": ["*"] }
  ],
  "future": { "kept": [1, 2,   3] }
}
`
const examples = join(import.meta.dirname, '../../../../docs/policy/examples')
const exampleTexts = readdirSync(examples, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.json'))
  .map((name) => readFileSync(join(examples, name), 'utf8'))

test('an edit changes one value, and keeps every other character', () => {
  const edited = editText(text, ['rules', 0, 'to', 1], 'git')
  assert.equal(edited, text.replace('"gti"', '"git"'))
  assert.equal(editText(text, ['rules', 1, 'action'], 'allow'), text.replace('"deny"', '"allow"'))
})

test('a new field has the style of the others, and a removed one leaves valid JSON', () => {
  const added = editText(text, ['rules', 1, 'when'], { posture: ['disk'] })
  assert.deepEqual((parseText(added).document!.rules as object[])[1], {
    ...{ id: 'b', action: 'deny', to: ['*'], when: { posture: ['disk'] } },
  })
  assert.deepEqual(parseText(editText(added, ['rules', 1, 'when'], undefined)).document, parseText(text).document)
  assert.match(editText(text, ['hosts'], { db: '10.0.0.1' }), /^ {2}"hosts": \{\n {4}"db": "10\.0\.0\.1"\n {2}\}/m)
})

test('a text that is not JSON, or repeats a name, names the place', () => {
  const broken = parseText('{ "rules": [ { "id": } ] }')
  assert.equal(broken.document, undefined)
  assert.match(broken.problems[0]!.message, /^Not valid JSON: value expected\.$/)
  const twice = parseText('{ "hosts": { "a": "10.0.0.1", "a": "10.0.0.2" } }')
  assert.deepEqual([twice.document, twice.problems[0]!.field, twice.problems[0]!.from], [undefined, 'hosts.a', 30])
  assert.equal(parseText('[]').problems.length, 1)
})

test('a text with very many levels is a problem at its place, and no failure', () => {
  for (const deep of ['['.repeat(50_000), `{"a":`.repeat(9_000), `[${'['.repeat(300)}`]) {
    const { document, problems } = parseText(deep)
    assert.deepEqual([document, problems.length], [undefined, 1])
    assert.match(problems[0]!.message, /more than 200 levels/)
  }
  const inTexts = `{ "rules": [], "note": "${'['.repeat(500)} \\" ${'{'.repeat(500)}" }`
  assert.deepEqual(parseText(inTexts).problems, [])
})

test('a moved, copied or added item leaves the text of all others as it is', () => {
  const typed = '{ "rules": [ {"id":"a",  "n": 12345678901234567890}, {"id":"b", "n": 1e999},\n\n {"id":"c"} ] }'
  assert.equal(
    moveIn(typed, 'rules', 0, 2),
    '{ "rules": [ {"id":"b", "n": 1e999}, {"id":"c"},\n\n {"id":"a",  "n": 12345678901234567890} ] }',
  )
  assert.match(insertText(typed, 'rules', 1, { id: 'd' }), /12345678901234567890[\s\S]*"id": "d"[\s\S]*1e999/)
  assert.equal(moveIn('{ "rules": 5 }', 'rules', 0, 1), '{ "rules": 5 }')
})

test('a text that looks like the placeholder of an edit is not replaced', () => {
  const marked = '{ "a": "\\u0001", "b": 1 }'
  assert.deepEqual(parseText(editText(marked, ['b'], 2)).document, { a: '\u0001', b: 2 })
})

test('fields of the API lead to their place in the text', () => {
  assert.deepEqual(pathOf('policy.rules[8].to[1]'), ['rules', 8, 'to', 1])
  assert.equal(fieldOf(['rules', 8, 'to', 1]), 'rules[8].to[1]')
  const { tree } = parseText(text)
  const { from, to } = rangeAt(tree, pathOf('policy.rules[0].to[1]'))
  assert.equal(text.slice(from, to), '"gti"')
  const around = rangeAt(tree, pathOf('rules[1].ports[3]'))
  assert.match(text.slice(around.from, around.to), /^\{ "id": "b"/)
})

test('no edit of an example of the documents loses anything', () => {
  assert.ok(exampleTexts.length >= 30)
  for (const example of exampleTexts) {
    const { document } = parseText(example)
    assert.ok(document, example.slice(0, 100))
    assert.deepEqual(JSON.parse(formatText(example)), document)
    for (const [i, rule] of (document.rules as object[]).entries()) {
      const edited = editText(example, ['rules', i, 'description'], 'Changed')
      const rules = (document.rules as object[]).with(i, { ...rule, description: 'Changed' })
      assert.deepEqual(JSON.parse(edited), { ...document, rules })
    }
  }
})

const names = fc.constantFrom('a', 'b.c', 'd e', 'q"q', 'b\\b', 'é', '__proto__x')
const values = fc.jsonValue({ maxDepth: 3 })
const documents = fc.record({
  rules: fc.array(fc.record({ id: names, extra: values }), { minLength: 1, maxLength: 5 }),
  hosts: fc.dictionary(names, values),
  future: values,
})

test('an edit of a generated document changes only its place', () => {
  fc.assert(
    fc.property(documents, names, values, fc.boolean(), (document, name, value, isCompact) => {
      const before = isCompact ? JSON.stringify(document) : textOf(document)
      const parsed = JSON.parse(JSON.stringify(document)) as typeof document
      assert.deepEqual(JSON.parse(editText(before, ['hosts', name], value)), {
        ...parsed,
        hosts: { ...parsed.hosts, [name]: JSON.parse(JSON.stringify(value)) as unknown },
      })
      const last = parsed.rules.length - 1
      const rules = parsed.rules.with(last, { ...parsed.rules[last]!, id: name })
      assert.deepEqual(JSON.parse(editText(before, ['rules', last, 'id'], name)), { ...parsed, rules })
      assert.deepEqual(JSON.parse(insertText(before, 'rules', 0, { id: name })).rules[0], { id: name })
      const moved = JSON.parse(moveIn(before, 'rules', 0, last)).rules as object[]
      assert.deepEqual(moved.at(-1), parsed.rules[0])
      assert.equal(moved.length, parsed.rules.length)
    }),
    { numRuns: 1000 },
  )
})
