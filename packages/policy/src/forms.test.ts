import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyRule, PolicySubjects, PolicyTest } from '@holdfast/contract/policy-document'
import { canonicalPolicy } from '@holdfast/contract/policy-forms'
import fc from 'fast-check'
import { arbitraryDevice, arbitraryRules, compile, device, NOW, resolve, world } from '../test/support/policies.ts'
import { compilePolicy } from './compile.ts'
import { decide } from './decide.ts'
import { checkDocument } from './document.ts'
import { parseTarget } from './target.ts'
import { runPolicyTests } from './tests.ts'

const schema = 'holdfast.policy/1'
const words = { users: 'user', groups: 'group', tags: 'tag', devices: 'device' } as const
type List = keyof typeof words
const lists = Object.keys(words) as List[]

/** Writes each list of one entry as one text, for those kinds that `singular` names. */
function inOneText(named: PolicySubjects, singular: readonly List[]): object {
  return Object.fromEntries(
    Object.entries(named).map(([key, value]) => {
      const isOne = singular.includes(key as List) && Array.isArray(value) && value.length === 1
      return isOne ? [words[key as List], value[0]] : [key, value]
    }),
  )
}
const rewritten = (rules: readonly PolicyRule[], singular: readonly List[]) =>
  rules.map((rule) => ({
    ...rule,
    from: inOneText(rule.from, singular),
    ...(rule.except && { except: inOneText(rule.except, singular) }),
  }))

const textOf = (value: unknown): string => JSON.stringify(value)
test('both forms of a rule give the same document and the same decisions', () => {
  const targets = ['db:tcp/443', 'web', 'gw', '10.1.2.3:tcp/22', '10.1.3.1:icmp'].map((text) => parseTarget(text)!)
  fc.assert(
    fc.property(arbitraryRules, fc.subarray(lists), arbitraryDevice, (rules, singular, facts) => {
      const listed = world(rules)
      const written = { schema, ...listed, rules: rewritten(rules, singular) }
      assert.equal(textOf(resolve(written).document), textOf({ schema, ...listed }))
      const [a, b] = [compile(listed), compilePolicy(resolve(written))]
      for (const target of targets)
        assert.equal(textOf(decide(a, facts, { at: NOW }, target)), textOf(decide(b, facts, { at: NOW }, target)))
    }),
    { numRuns: 300 },
  )
})

test('the canonical form of a canonical document is the same object', () => {
  fc.assert(
    fc.property(arbitraryRules, fc.subarray(lists), (rules, singular) => {
      const tests = [{ name: 't', from: { groups: ['dev'], tags: ['kiosk', 'managed'], users: ['bob'] }, deny: ['db'] }]
      const { document } = canonicalPolicy({ schema, ...world(rules), rules: rewritten(rules, singular), tests })
      const again = canonicalPolicy(document)
      assert.equal(again.document, document)
      assert.deepEqual([again.moved, again.conflicts], [[], []])
    }),
  )
})

test('any JSON value has a canonical form, which is idempotent, and the value is not changed', () => {
  const key = fc.constantFrom(
    'rules',
    'tests',
    'groups',
    'from',
    'except',
    'user',
    'users',
    'group',
    'tags',
    '__proto__',
  )
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<unknown>('ada', '', 7, null, true),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.array(fc.tuple(key, tie('tree')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
    ),
  }))
  fc.assert(
    fc.property(tree, (value) => {
      const before = JSON.stringify(value)
      const { document } = canonicalPolicy(value)
      assert.equal(JSON.stringify(value), before)
      assert.equal(canonicalPolicy(document).document, document)
    }),
    { numRuns: 1_000 },
  )
})

const rule = { id: 'r', action: 'allow', from: { any: true }, to: ['*'] }
const documentOf = (parts: object) => {
  const checked = checkDocument({ schema, rules: [], ...parts })
  return 'errors' in checked ? assert.fail(JSON.stringify(checked.errors)) : checked.document
}

test('rules and groups are stored with lists, and tests with one text where one is enough', () => {
  const document = documentOf({
    groups: { eng: { user: 'ada', group: 'staff' } },
    rules: [{ ...rule, from: { group: 'eng', tags: ['a'] }, except: { device: 'dev_1', user: 'bob' } }],
    tests: [
      {
        name: 't',
        from: { users: ['ada'], groups: ['eng', 'staff'], tags: ['a'], devices: ['dev_1'] },
        deny: ['*.x.example'],
      },
    ],
  })
  assert.deepEqual(document.groups, { eng: { users: ['ada'], groups: ['staff'] } })
  assert.deepEqual(document.rules[0]?.from, { groups: ['eng'], tags: ['a'] })
  assert.deepEqual(document.rules[0]?.except, { devices: ['dev_1'], users: ['bob'] })
  assert.deepEqual(document.tests?.[0]?.from, { user: 'ada', groups: ['eng', 'staff'], tag: 'a', device: 'dev_1' })
})

const errorsOf = (parts: object) => {
  const checked = checkDocument({ schema, rules: [], ...parts })
  return 'errors' in checked ? checked.errors.map(({ field, message }) => `${field}: ${message}`) : []
}

test('a field in both forms is refused at the field, in rules, groups and tests', () => {
  assert.deepEqual(
    errorsOf({
      groups: { 'a.b': { user: 'ada', users: [] } },
      rules: [{ ...rule, from: { tag: 'a', tags: ['a'] }, except: { device: 'x', devices: ['x'] } }],
      tests: [{ name: 't', from: { group: 'a', groups: ['b'] }, deny: ['10.0.0.1'] }],
    }),
    [
      'groups["a.b"].user: "user" and "users" mean the same; keep one of them',
      'rules[0].from.tag: "tag" and "tags" mean the same; keep one of them',
      'rules[0].except.device: "device" and "devices" mean the same; keep one of them',
      'tests[0].from.group: "group" and "groups" mean the same; keep one of them',
    ],
  )
})

test('a value of the other form is refused with the field to write', () => {
  assert.deepEqual(
    errorsOf({
      groups: { g: { users: 'ada' } },
      rules: [{ ...rule, from: { group: ['a'] }, except: { tags: 'x' } }],
      tests: [
        { name: 't', from: { users: ['a', 'b'], groups: [] }, deny: ['10.0.0.1'] },
        { name: 'u', from: { devices: ['a', 'b'], tag: ['x'] }, deny: ['10.0.0.1'] },
      ],
    }).sort(),
    [
      'groups.g.users: must be a list in [ ]; for one name write "user"',
      'rules[0].except.tags: must be a list in [ ]; for one name write "tag"',
      'rules[0].from.group: must be a text in double quotes; for a list write "groups"',
      'tests[0].from.groups: must have at least 1 entry',
      'tests[0].from.users: a test has one user; keep one entry, and write another test for each other entry',
      'tests[1].from.devices: a test has one device; keep one entry, and write another test for each other entry',
      'tests[1].from.tag: must be a text in double quotes; for a list write "tags"',
    ],
  )
})

test('an error names the field that the author wrote', () => {
  assert.deepEqual(
    errorsOf({ groups: { 'a.b': { group: 'c' }, c: { groups: ['a.b'] } } }).map((error) => error.split(': ')[0]),
    ['groups["a.b"].group'],
  )
  assert.deepEqual(
    errorsOf({ rules: [{ ...rule, from: { user: 'a\ud800' } }] }).map((e) => e.split(': ')[0]),
    ['rules[0].from.user'],
  )
})

test('a device of a test is in all groups that the test names, and has all tags', () => {
  const from = (fields: PolicyTest['from']) => fields
  const compiled = compile({
    groups: { oncall: { users: ['ada'] }, outside: { groups: ['contractors'] } },
    rules: [
      { id: 'oncall', action: 'allow', from: { groups: ['oncall', 'staff'] }, to: ['10.0.0.1'] },
      { id: 'stop', action: 'deny', from: { groups: ['outside'] }, to: ['10.0.0.1'] },
      { id: 'kiosk', action: 'allow', from: { tags: ['kiosk'] }, except: { tags: ['lost'] }, to: ['10.0.0.2'] },
    ],
    tests: [
      { name: '1', from: from({ groups: ['oncall', 'staff'] }), allow: ['10.0.0.1'] },
      { name: '2', from: from({ groups: ['oncall', 'outside'] }), deny: ['10.0.0.1'] },
      { name: '3', from: from({ groups: ['staff', 'contractors'] }), deny: ['10.0.0.1'] },
      { name: '4', from: from({ tags: ['kiosk', 'managed'] }), allow: ['10.0.0.2'] },
      { name: '5', from: from({ tags: ['kiosk', 'lost'], group: 'staff' }), allow: ['10.0.0.1'], deny: ['10.0.0.2'] },
    ],
  })
  const tests = compiled.resolved.document.tests ?? []
  const { failed, results } = runPolicyTests(compiled, tests, { groupsOfUser: () => [], now: NOW })
  assert.equal(failed, 0, JSON.stringify(results))
  assert.equal(decide(compiled, device(), { at: NOW }, { address: '10.0.0.1' }).decision, 'deny')
})
