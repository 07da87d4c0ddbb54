import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mapOf, partOf } from './policy-map.ts'

const document = {
  rules: [
    { id: 'all', action: 'allow', from: { any: true }, to: ['wiki'] },
    { id: 'dev', action: 'allow', from: { groups: ['sre', 'dev'] }, to: ['git', 'wiki'], when: { posture: ['disk'] } },
    { id: 'no', action: 'deny', from: { group: 'dev', tags: ['kiosk'] }, to: ['git'] },
    'broken',
  ],
}

test('each pair of a subject and a target has one edge, with its rules and their conditions', () => {
  const { subjects, targets, edges } = mapOf(document)
  assert.deepEqual(
    subjects.map(({ text }) => text),
    ['any device', 'dev', 'sre', 'kiosk'],
  )
  assert.deepEqual(
    targets.map(({ text }) => text),
    ['git', 'wiki'],
  )
  assert.equal(edges.length, 6)
  const both = edges.find(({ from, to }) => from === 'group dev' && to === 'place git')
  assert.deepEqual(
    [both?.allows, both?.denies],
    [...[[{ id: 'dev', conditions: ['posture: disk'] }], [{ id: 'no', conditions: [] }]]],
  )
})

test('a filter keeps the edges of the nodes that fit, with both ends', () => {
  const map = mapOf(document)
  const part = partOf(map, { text: 'kio' })
  assert.deepEqual([part.subjects.length, part.targets.length, part.edges.length], [1, 1, 1])
  assert.equal(partOf(map, { text: '', chosen: 'place wiki' }).edges.length, 3)
  assert.deepEqual(partOf(map, { text: '' }).edges, map.edges)
})
