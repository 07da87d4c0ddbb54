import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseText } from '../../editor/document.ts'
import { applyEntry, copyRule, entriesOf, hasEntry, isEditable, removeEntry, rulesOf, withTest } from './changes.ts'
import { editedParts } from './field-words.ts'

const examples = join(import.meta.dirname, '../../../../../docs/policy/examples')
const texts = readdirSync(examples).map((name) => readFileSync(join(examples, name), 'utf8'))
const documentOf = (text: string) => parseText(text).document!

test('an entry that is applied without a change changes no character of an example', () => {
  for (const text of texts)
    for (const part of editedParts)
      for (const { key, value, name } of entriesOf(documentOf(text), part))
        if (part !== 'settings') assert.equal(applyEntry(text, documentOf(text), { part, key, value }, name), text)
})

test('a changed field keeps all other fields, known or not', () => {
  const text = '{ "schema": "x", "rules": [ { "id": "a", "future":   {"x": 1}, "action": "allow" } ], "more": 1 }'
  const value = { id: 'a', future: { x: 1 }, action: 'deny' }
  const edited = applyEntry(text, documentOf(text), { part: 'rules', key: 0, value }, 'a')
  assert.equal(edited, text.replace('"allow"', '"deny"'))
})

test('a renamed entry is renamed wherever the document means it', () => {
  const document = {
    resources: { wiki: { cidrs: ['10.0.0.0/8'] } },
    posture_checks: { wiki: { expression: 'true' } },
    groups: { wiki: { users: ['ana'] }, all: { groups: ['wiki'] } },
    rules: [{ id: 'wiki', from: { groups: ['wiki'] }, to: ['wiki', 'git'], when: { posture: ['wiki'] } }],
    tests: [{ name: 'wiki', from: { group: 'wiki' }, allow: ['wiki:tcp/443'], deny: ['wikis'] }],
  }
  const text = JSON.stringify(document, null, 2)
  const after = (part: 'resources' | 'groups' | 'posture_checks') =>
    documentOf(applyEntry(text, document, { part, key: 'wiki', value: document[part].wiki }, 'w2')) as typeof document
  const resources = after('resources')
  assert.deepEqual(Object.keys(resources.resources), ['w2'])
  assert.deepEqual(
    [resources.rules[0]!.to, resources.tests[0]!.allow, resources.tests[0]!.deny],
    [...[['w2', 'git'], ['w2:tcp/443'], ['wikis']]],
  )
  assert.deepEqual(resources.rules[0]!.from, document.rules[0]!.from)
  const groups = after('groups')
  assert.deepEqual(
    [groups.rules[0]!.from.groups, groups.tests[0]!.from, groups.groups],
    [...[['w2'], { group: 'w2' }, { w2: { users: ['ana'] }, all: { groups: ['w2'] } }]],
  )
  assert.deepEqual(after('posture_checks').rules[0]!.when, { posture: ['w2'] })
})

test('entries are added, copied and removed', () => {
  const text = '{ "rules": [ { "id": "a" }, { "id": "b" } ] }'
  const copied = documentOf(copyRule(text, documentOf(text), 0))
  assert.deepEqual(rulesOf(copied), [{ id: 'a' }, { id: 'a-copy' }, { id: 'b' }])
  assert.deepEqual(rulesOf(documentOf(removeEntry(text, 'rules', 0))), [{ id: 'b' }])
  const added = applyEntry(text, documentOf(text), { part: 'hosts', key: undefined, value: '10.0.0.1' }, 'db')
  assert.deepEqual(documentOf(added).hosts, { db: '10.0.0.1' })
  assert.equal(
    rulesOf(documentOf(applyEntry(text, documentOf(text), { part: 'rules', key: undefined, value: { id: 'c' } }, '')))
      .length,
    3,
  )
})

test('a pinned test is added to the draft under a name of its own', () => {
  const pinned = { name: 'reaches wiki', from: { user: 'ana' }, allow: ['wiki'] }
  const once = withTest('{ "rules": [] }', pinned)
  assert.deepEqual(JSON.parse(once), { rules: [], tests: [pinned] })
  assert.deepEqual(JSON.parse(withTest(once, pinned)).tests[1], { ...pinned, name: 'reaches wiki (2)' })
  assert.throws(() => withTest('{', pinned), /not valid JSON/)
})

test('parts of a wrong type have no entries, and no form changes them', () => {
  const document = { rules: 5, tests: { a: 1 }, resources: [{ id: 'x' }], hosts: 'abc', groups: null, settings: [] }
  for (const part of editedParts.filter((one) => one !== 'posture_checks')) {
    assert.equal(isEditable(document, part), false, part)
    assert.deepEqual(entriesOf(document, part), [], part)
    assert.equal(hasEntry(document, { part, key: undefined, value: {} }), false, part)
  }
})

test('a form is applied only to the entry that it shows', () => {
  const document = { rules: [{ id: 'b' }, { id: 'a' }], hosts: { db: '10.0.0.1' } }
  assert.equal(hasEntry(document, { part: 'rules', key: 1, value: { id: 'a' } }), true)
  assert.equal(hasEntry(document, { part: 'rules', key: 0, value: { id: 'a' } }), false)
  assert.equal(hasEntry(document, { part: 'hosts', key: 'db', value: '10.0.0.2' }), false)
  assert.equal(hasEntry(document, { part: 'settings', key: 0, value: {} }), true)
})
