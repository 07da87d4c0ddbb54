import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDirect, usesIn, usesOf } from './policy-uses.ts'

const uses = usesIn({
  groups: {
    'on-call': { groups: ['Engineering', 'all'] },
    all: { groups: ['grp_01kd', 'on-call'] },
    sales: {},
  },
  rules: [
    { id: 'git', from: { groups: ['engineering'] } },
    { id: 'db', from: { groups: ['on-call'] }, except: { groups: ['interns'] } },
    { id: 'crm', from: { groups: ['sales'] } },
    { id: 'wiki', from: {} },
  ],
})
const of = (name: string, group_id = 'grp_none') =>
  usesOf(uses, { name, group_id }).map((use) =>
    use.kind === 'group' ? `groups.${use.id}` : [use.id, use.part, use.through].filter(Boolean).join(' '),
  )

test('a rule uses the groups that it names, in any case, and those inside a group of the document', () => {
  assert.deepEqual(of('engineering'), ['git from', 'db from on-call', 'groups.on-call'])
  assert.deepEqual(of('interns'), ['db except'])
})

test('a group is found by its id, through groups of the document that contain each other', () => {
  assert.deepEqual(of('renamed since', 'grp_01kd'), ['db from on-call', 'groups.all'])
})

test('a group of the document hides a group of the tenant with its name', () => assert.deepEqual(of('sales'), []))

test('the use through a group of the document is not direct, its entry is', () => {
  assert.deepEqual(usesOf(uses, { name: 'engineering', group_id: '' }).map(isDirect), [true, false, true])
})
