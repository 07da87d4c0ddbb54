import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { inReadingOrder, textOf } from './text.ts'

test('rules take several lines, and short values one', () => {
  const document = {
    schema: 'holdfast.policy/1',
    hosts: {},
    resources: { wiki: { cidrs: ['10.1.0.0/16'], ports: ['tcp/443'] } },
    rules: [{ id: 'wiki', action: 'allow', from: { groups: ['a', 'b'] }, to: ['wiki'] }],
  }
  assert.equal(
    textOf(document),
    `{
  "schema": "holdfast.policy/1",
  "hosts": {},
  "resources": {
    "wiki": { "cidrs": ["10.1.0.0/16"], "ports": ["tcp/443"] }
  },
  "rules": [
    {
      "id": "wiki",
      "action": "allow",
      "from": { "groups": ["a", "b"] },
      "to": ["wiki"]
    }
  ]
}`,
  )
})

test('the text of any document parses to the same document', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.deepEqual(JSON.parse(textOf(value)), JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('fields of the server come in reading order, and nothing is lost', () => {
  const stored = {
    rules: [{ id: 'a', to: ['x'], from: { any: true }, action: 'allow', odd: 1 }],
    schema: 's',
    hosts: {},
  }
  assert.equal(
    JSON.stringify(inReadingOrder(stored)),
    '{"schema":"s","hosts":{},"rules":[{"id":"a","action":"allow","from":{"any":true},"to":["x"],"odd":1}]}',
  )
  fc.assert(fc.property(fc.jsonValue(), (value) => assert.deepEqual(inReadingOrder(value), value)))
})
