import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalPolicy } from '@holdfast/contract/policy-forms'
import fc from 'fast-check'
import { mergePolicies } from './merge.ts'

type Fields = Readonly<Record<string, unknown>>
type Rule = Fields & { id: string }
const rule = (id: string, more: Fields = {}): Rule => ({
  id,
  action: 'allow',
  from: { users: ['ada'] },
  to: ['*'],
  ...more,
})
const ids = (document: Fields): string[] => (document.rules as Rule[]).map(({ id }) => id)
const rules = (...list: readonly (string | Rule)[]): Fields => ({
  rules: list.map((one) => (typeof one === 'string' ? rule(one) : one)),
})

/** Documents that resemble each other, so that sides change the same places. Some have no valid form. */
const subject = fc.constantFrom<Fields>(
  { user: 'ada' },
  { users: ['ada'] },
  { users: ['bob', 'eve'] },
  { groups: ['ops'] },
)
const anyRule = fc.record(
  {
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', '1', '__proto__'),
    from: subject,
    to: fc.constantFrom(['x'], ['x', 'y'], ['y', 'x']),
    note: fc.constantFrom('one', 'two', null),
  },
  { requiredKeys: ['id'] },
)
const listOf = <T extends Fields>(item: fc.Arbitrary<T>, key: string) =>
  fc.uniqueArray(item, { selector: (one) => one[key], maxLength: 6 })
const named = (value: fc.Arbitrary<unknown>) =>
  fc.dictionary(fc.constantFrom('wiki', 'git', '7', 'constructor'), value, { maxKeys: 4 })
const tidy = fc.record(
  {
    schema: fc.constantFrom('holdfast.policy/1', 'holdfast.policy/2'),
    rules: listOf(anyRule, 'id'),
    tests: listOf(fc.record({ name: fc.constantFrom('t', 'u'), from: subject }), 'name'),
    hosts: named(fc.constantFrom('10.0.0.1', '10.0.0.2')),
    resources: named(fc.record({ dns: fc.constantFrom(['x'], ['y']) })),
    groups: named(subject),
    settings: fc.record(
      { mtu: fc.constantFrom(1280, 1400), dns: fc.constantFrom({}, { servers: ['10.0.0.1'] }) },
      { requiredKeys: [] },
    ),
    'x-note': fc.jsonValue({ maxDepth: 1 }),
  },
  { requiredKeys: [] },
)
const untidy = tidy.chain((document) =>
  fc
    .record(
      {
        rules: fc.array(fc.oneof(anyRule, fc.jsonValue({ maxDepth: 1 })), { maxLength: 5 }),
        hosts: fc.jsonValue({ maxDepth: 1 }),
      },
      { requiredKeys: [] },
    )
    .map((more) => ({ ...document, ...more })),
)
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
const document: fc.Arbitrary<Fields> = fc
  .oneof({ arbitrary: tidy, weight: 3 }, { arbitrary: untidy, weight: 1 })
  .map(plain)
const canonical = (value: Fields) => canonicalPolicy(value).document
const runs = { numRuns: 2000 }

test('a side without changes gets those of the other side, exactly as written, without a conflict', () => {
  fc.assert(
    fc.property(document, document, (base, other) => {
      const own = mergePolicies({ base, draft: other, published: base })
      assert.deepEqual([JSON.stringify(own.document), own.changed, own.conflicts], [JSON.stringify(other), false, []])
      const theirs = mergePolicies({ base, draft: base, published: other })
      assert.deepEqual([canonical(theirs.document), theirs.conflicts], [canonical(other), []])
      const both = mergePolicies({ base, draft: other, published: other })
      assert.deepEqual([JSON.stringify(both.document), both.conflicts], [JSON.stringify(other), []])
    }),
    runs,
  )
})

const itemsOf = (value: Fields, part: string, key: string | null): Map<string, unknown> | undefined => {
  const held = Object.hasOwn(value, part) ? value[part] : undefined
  if (held === undefined) return new Map()
  if (key === null)
    return typeof held === 'object' && held !== null && !Array.isArray(held) ? new Map(Object.entries(held)) : undefined
  if (!Array.isArray(held)) return undefined
  const found = held.map((item: Fields | null) => [item?.[key], item] as const)
  const names = new Set(found.map(([name]) => name))
  return names.size === found.length && [...names].every((name) => typeof name === 'string')
    ? new Map(found as [string, unknown][])
    : undefined
}
const sameText = (a: unknown, b: unknown): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value)
    .map(([name, one]) => [name, sorted(one)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return { fields }
}

test('nothing is lost: every changed value of either side is in the merged document or in a conflict', () => {
  let [conflictsSeen, compared] = [0, 0]
  fc.assert(
    fc.property(document, document, document, (base, draft, published) => {
      const merged = mergePolicies({ base, draft, published })
      conflictsSeen += merged.conflicts.length
      const forms = { base, draft, published, merged: merged.document }
      const canonicalForms = Object.fromEntries(
        Object.entries(forms).map(([name, d]) => [name, canonical(d) as Fields]),
      )
      for (const [part, key] of [
        ['rules', 'id'],
        ['tests', 'name'],
        ['hosts', null],
        ['resources', null],
        ['groups', null],
        ['settings', null],
      ] as const) {
        const at = (side: keyof typeof forms) => itemsOf(canonicalForms[side]!, part, key)
        const [b, d, p, m] = [at('base'), at('draft'), at('published'), at('merged')]
        if (!b || !d || !p) {
          const whole = merged.conflicts.find((c) => c.part === part && c.name === null)
          const of = (side: keyof typeof forms) =>
            Object.hasOwn(canonicalForms[side]!, part) ? canonicalForms[side]![part] : undefined
          const isKept =
            sameText(of('published'), of('base')) || sameText(of('published'), of('merged')) || whole !== undefined
          assert.ok(isKept, `${part} of the published document is lost`)
          continue
        }
        assert.ok(m, `${part} has entries that cannot be told apart`)
        for (const name of new Set([...b.keys(), ...d.keys(), ...p.keys()])) {
          compared++
          const [before, mine, theirs, now]: unknown[] = [b.get(name), d.get(name), p.get(name), m.get(name)]
          const conflict = merged.conflicts.find((c) => c.part === part && c.name === name)
          const expectsConflict: boolean =
            !sameText(before, mine) && !sameText(before, theirs) && !sameText(mine, theirs)
          assert.equal(conflict !== undefined, expectsConflict, `${part} ${name}`)
          assert.ok(sameText(now, sameText(before, mine) ? theirs : mine), `${part} ${name}`)
          if (conflict)
            assert.deepEqual(
              [conflict.draft, conflict.published, conflict.base],
              [d, p, b].map((side, i) =>
                side.get(name) === undefined ? undefined : itemsOf([draft, published, base][i]!, part, key)!.get(name),
              ),
            )
        }
      }
    }),
    runs,
  )
  assert.ok(conflictsSeen > 1000 && compared > 5000, `${conflictsSeen} ${compared}`)
})

test('fields of the document that the policy language does not have are kept', () => {
  const { document: merged, conflicts } = mergePolicies({
    base: { schema: 'a', 'x-1': 1, 'x-2': [1] },
    draft: { schema: 'a', 'x-1': 2, 'x-2': [1], 'x-3': null },
    published: { schema: 'b', 'x-1': 1, 'x-2': [1, 2], 'x-4': {} },
  })
  assert.deepEqual(merged, { schema: 'b', 'x-1': 2, 'x-2': [1, 2], 'x-3': null, 'x-4': {} })
  assert.deepEqual(conflicts, [])
})

test('the order is that of the draft, and a new published rule follows its published predecessor', () => {
  const { document: merged, changed } = mergePolicies({
    base: rules('a', 'b', 'c'),
    draft: rules('c', 'mine', 'a', 'b'),
    published: rules('first', 'second', 'a', 'after-a', 'too', 'b', 'c', 'last'),
  })
  assert.deepEqual(ids(merged), ['first', 'second', 'c', 'last', 'mine', 'a', 'after-a', 'too', 'b'])
  assert.equal(changed, true)
})

test('a deleted rule that the other side changed is a conflict; one that it left is deleted', () => {
  const base = rules('a', 'b', 'c', 'd')
  const changedRule = (id: string) => rule(id, { log: true })
  const found = mergePolicies({
    base,
    draft: rules('c', changedRule('d')),
    published: rules(changedRule('a'), 'b'),
  })
  assert.deepEqual(found.document, rules(changedRule('d')))
  assert.deepEqual(found.conflicts, [
    { part: 'rules', name: 'd', draft: changedRule('d'), published: undefined, base: rule('d') },
    { part: 'rules', name: 'a', draft: undefined, published: changedRule('a'), base: rule('a') },
  ])
})

test('the two forms of a name, and another order of a list, are no change', () => {
  const short = rule('a', { from: { user: 'ada' } })
  const found = mergePolicies({
    base: rules(rule('a', { to: ['x', 'y'] })),
    draft: rules({ ...short, to: ['y', 'x'] }),
    published: rules(rule('a', { to: ['x', 'y'], log: true })),
  })
  assert.deepEqual([found.document, found.conflicts], [rules(rule('a', { to: ['x', 'y'], log: true })), []])
  const untouched = mergePolicies({ base: rules('a'), draft: rules(short, 'mine'), published: rules('a', 'b') })
  assert.deepEqual(untouched.document, rules(short, 'b', 'mine'), 'an entry of the draft keeps its form')
})

test('a list with a repeated or missing id is one value', () => {
  const twice = { rules: [rule('a'), rule('a', { log: true })] }
  const without = { rules: [rule('a'), { action: 'allow' }] }
  for (const draft of [twice, without]) {
    const kept = mergePolicies({ base: rules('a'), draft, published: rules('a') })
    assert.deepEqual([kept.document, kept.conflicts], [draft, []])
    const published = rules('a', 'b')
    const found = mergePolicies({ base: rules('a'), draft, published })
    assert.deepEqual(found.document, draft)
    assert.deepEqual(found.conflicts, [
      { part: 'rules', name: null, draft: draft.rules, published: published.rules, base: [rule('a')] },
    ])
  }
})

test('a draft without a base is merged as if both began with nothing', () => {
  const found = mergePolicies({
    base: {},
    draft: { ...rules('a', 'mine'), settings: { mtu: 1400 } },
    published: { ...rules('a', 'theirs'), settings: { mtu: 1280, keepalive_seconds: 25 } },
  })
  assert.deepEqual(found.document, { ...rules('a', 'theirs', 'mine'), settings: { mtu: 1400, keepalive_seconds: 25 } })
  assert.deepEqual(found.conflicts, [{ part: 'settings', name: 'mtu', draft: 1400, published: 1280, base: undefined }])
})

test('documents of the largest size are merged', () => {
  const many = (more: Fields) => ({
    rules: Array.from({ length: 5000 }, (_, i) => rule(`rule-${i}`, i % 2 ? more : {})),
  })
  const found = mergePolicies({ base: many({}), draft: many({ log: true }), published: many({ log: false }) })
  assert.equal(found.conflicts.length, 2500)
})
