import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { differencesOf } from './difference.ts'
import { textOf } from './text.ts'

const rule = (id: string, to: string) => ({ id, action: 'allow', from: { any: true }, to: [to] })

const names = fc.constantFrom('a', 'b', 'c', 'd')
const documents = fc.record({
  rules: fc.uniqueArray(fc.record({ id: names, to: fc.array(names) }), { selector: ({ id }) => id }),
  hosts: fc.dictionary(names, fc.ipV4()),
  extra: fc.jsonValue(),
})

test('entries are compared by name, and have the lines of the shown document', () => {
  const before = {
    schema: 'holdfast.policy/1',
    resources: { wiki: { cidrs: ['10.1.0.0/16'] }, old: { cidrs: ['10.9.0.0/16'] } },
    rules: [rule('a', 'wiki'), rule('b', 'wiki')],
  }
  const after = {
    schema: 'holdfast.policy/1',
    resources: { wiki: { cidrs: ['10.1.0.0/16'] } },
    rules: [rule('b', 'old'), rule('a', 'wiki'), { ...rule('c', 'wiki'), description: 'New one' }],
    settings: { default_action: 'deny' },
  }
  const found = differencesOf(before, after)
  assert.deepEqual(
    found.map(({ part, name, before: old, after: now }) => [part, name, old !== undefined, now !== undefined]),
    [
      ['rules', 'b', true, true],
      ['rules', 'c', false, true],
      ['resources', 'old', true, false],
      ['settings', 'default_action', false, true],
    ],
  )
  assert.equal(found[1]!.description, 'New one')
})

test('a repeated id hides no rule', () => {
  const found = differencesOf({ rules: [] }, { rules: [rule('a', 'x'), rule('a', 'y')] })
  assert.deepEqual(
    found.map(({ name }) => name),
    ['a', 'a (2)'],
  )
})

test('an entry has the text and the line that it has in the shown document', () => {
  fc.assert(
    fc.property(documents, ({ extra, ...document }) => {
      const shown = { schema: 1, extra, ...document, settings: { a: extra } }
      const lines = textOf(shown).split('\n')
      for (const { name, after } of differencesOf({}, shown)) {
        const place = lines.slice(after!.line - 1).map((line) => line.trim().replace(/,$/, ''))
        for (const [i, line] of after!.text.split('\n').entries())
          assert.equal(place[i], line.trim().replace(/,$/, ''), `${name}, line ${i}`)
      }
    }),
  )
})

test('a document does not differ from itself, in any order of its rules and fields', () => {
  fc.assert(
    fc.property(documents, (document) => {
      const turned = {
        extra: document.extra,
        hosts: document.hosts,
        rules: document.rules.map(({ id, to }) => ({ to, id })).reverse(),
      }
      assert.deepEqual(differencesOf(document, turned), [])
    }),
  )
})

test('added and removed entries change places if the documents do', () => {
  fc.assert(
    fc.property(documents, documents, (a, b) => {
      const keysOf = (found: ReturnType<typeof differencesOf>) =>
        found.map(({ part, name }) => `${part}/${name}`).sort()
      const [there, back] = [differencesOf(a, b), differencesOf(b, a)]
      assert.deepEqual(keysOf(there), keysOf(back))
      assert.equal(there.filter((one) => !one.before).length, back.filter((one) => !one.after).length)
    }),
  )
})
