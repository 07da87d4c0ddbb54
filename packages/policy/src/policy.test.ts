import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyRule, PolicySubjects } from '@holdfast/contract/policy-document'
import fc from 'fast-check'
import {
  arbitraryDevice,
  arbitraryRule,
  arbitraryRules,
  compile,
  device,
  NOW,
  resolve,
  world,
} from '../test/support/policies.ts'
import { compilePolicy } from './compile.ts'
import type { ConnectionContext } from './conditions.ts'
import { decide } from './decide.ts'
import type { DeviceFacts } from './facts.ts'
import { selectVariant } from './select.ts'
import type { Target } from './target.ts'
import { variantContent } from './variant.ts'

const options = { numRuns: 60 }

const arbitraryTarget: fc.Arbitrary<Target> = fc
  .tuple(
    fc.constantFrom<{ name: string } | { address: string }>(
      { name: 'db' },
      { name: 'gw' },
      { name: 'web' },
      { name: 'x.corp.example' },
      { name: 'nothing' },
      { address: '10.1.2.3' },
      { address: '10.1.9.9' },
      { address: 'fd00::5' },
    ),
    fc.constantFrom<Partial<Target>>(
      {},
      { protocol: 'tcp' },
      { protocol: 'tcp', port: 443 },
      { protocol: 'tcp', port: 9000 },
      { protocol: 'icmp' },
    ),
  )
  .map(([place, port]) => ({ ...place, ...port }) as Target)

const arbitraryContext: fc.Arbitrary<ConnectionContext> = fc.record(
  {
    at: fc.constantFrom(NOW, NOW + 36_000_000),
    source_ip: fc.constantFrom('192.0.2.9', '203.0.113.1', '2001:db8::1', 'not an address'),
    country: fc.constantFrom('DE', 'FR'),
    mfa_at: fc.constantFrom(NOW - 30_000, NOW - 900_000),
  },
  { requiredKeys: ['at'] },
)

/** Reference implementation of the subjects of a rule. `inner` and `outer` are the groups of `world`. */
function isNamed(named: PolicySubjects | undefined, facts: DeviceFacts): boolean {
  const isIn = (group: string): boolean => {
    if (group === 'inner') return facts.user_id === 'bob' || isIn('dev')
    if (group === 'outer') return facts.user_id === 'carol' || isIn('inner') || isIn('ops')
    return facts.group_ids.includes(group)
  }
  return Boolean(
    named?.any ||
      named?.users?.some((user) => user === facts.user_id) ||
      named?.groups?.some(isIn) ||
      named?.tags?.some((tag) => facts.tags.includes(tag)) ||
      named?.devices?.some((id) => id === facts.device_id),
  )
}

/** Reference implementation of the posture checks of `world`: true, false or null for unknown. */
function passes(check: string, { platform, posture }: DeviceFacts): boolean | null {
  if (check === 'watched' || (check === 'os' && platform !== 'macos')) return true
  if (!posture || NOW - posture.reported_at >= (check === 'os' ? 600_000 : 3_600_000)) return null
  const fact = posture.facts[check === 'os' ? 'os.version' : 'disk.encrypted']
  if (fact === undefined) return null
  return check === 'os' ? fact !== '14.1' : fact === true
}

const isSelected = (rule: PolicyRule, facts: DeviceFacts): boolean => {
  if (!isNamed(rule.from, facts) || isNamed(rule.except, facts)) return false
  const outcomes = (rule.when?.posture ?? []).map((check) => passes(check, facts))
  return rule.action === 'allow' ? outcomes.every((o) => o === true) : !outcomes.includes(false)
}

test('a device gets exactly the rules that mean it and that its posture leaves on', () => {
  fc.assert(
    fc.property(arbitraryRules, fc.array(arbitraryDevice, { minLength: 1, maxLength: 5 }), (rules, devices) => {
      const compiled = compile(world(rules))
      for (const facts of devices) {
        const { rules: got } = variantContent(compiled, selectVariant(compiled, facts, NOW))
        assert.deepEqual(
          got.map(({ id }) => id),
          rules
            .filter((rule) => isSelected(rule, facts))
            .map(({ id }) => id)
            .sort(),
        )
        const explained = decide(compiled, facts, { at: NOW }, { name: 'db' }).rules
        const concerned = rules.filter((rule) => isNamed(rule.from, facts) && !isNamed(rule.except, facts))
        assert.deepEqual(
          explained.map(({ rule_id }) => rule_id),
          concerned.map(({ id }) => id).sort(),
        )
      }
    }),
    options,
  )
})

test('two devices share a key exactly when they share the content', () => {
  fc.assert(
    fc.property(arbitraryRules, arbitraryDevice, arbitraryDevice, (rules, a, b) => {
      const compiled = compile(world(rules))
      const [left, right] = [a, b].map((facts) => selectVariant(compiled, facts, NOW))
      assert.ok(left && right)
      const same = JSON.stringify(variantContent(compiled, left)) === JSON.stringify(variantContent(compiled, right))
      if (left.key === right.key) assert.ok(same)
      // An audited check changes the key, but not the content.
      if (same && !rules.some((rule) => rule.when?.posture?.includes('watched'))) assert.equal(left.key, right.key)
    }),
    options,
  )
})

test('a selection stays what it is until it says', () => {
  fc.assert(
    fc.property(arbitraryRules, arbitraryDevice, (rules, facts) => {
      const compiled = compile(world(rules))
      const { key, valid_until } = selectVariant(compiled, facts, NOW)
      const later = valid_until === null ? [NOW + 1e12] : [valid_until - 1, Math.floor((NOW + valid_until) / 2)]
      for (const at of later) assert.equal(selectVariant(compiled, facts, at).key, key)
    }),
    options,
  )
})

test('the order of a document means nothing', () => {
  fc.assert(
    fc.property(
      arbitraryRules,
      fc.infiniteStream(fc.nat()),
      arbitraryDevice,
      arbitraryContext,
      arbitraryTarget,
      (rules, dice, facts, context, target) => {
        const shuffled = rules
          .map((rule) => ({ rule, at: dice.next().value }))
          .sort((a, b) => a.at - b.at)
          .map(({ rule }) => ({ ...rule, to: [...rule.to].reverse() }))
        const [one, other] = [compile(world(rules)), compile(world(shuffled))]
        assert.deepEqual(decide(one, facts, context, target), decide(other, facts, context, target))
        const [a, b] = [selectVariant(one, facts, NOW), selectVariant(other, facts, NOW)]
        assert.equal(a.key, b.key)
        assert.equal(JSON.stringify(variantContent(one, a)), JSON.stringify(variantContent(other, b)))
      },
    ),
    options,
  )
})

test('nested groups mean their members', () => {
  const flat: Record<string, PolicySubjects> = {
    inner: { users: ['bob'], groups: ['dev'] },
    outer: { users: ['carol', 'bob'], groups: ['ops', 'dev'] },
  }
  const flatten = (named: PolicySubjects): PolicySubjects => {
    const parts = (named.groups ?? []).map((group) => flat[group] ?? { groups: [group] })
    const users = new Set([...(named.users ?? []), ...parts.flatMap((part) => part.users ?? [])])
    return { ...named, users: [...users], groups: [...new Set(parts.flatMap((part) => part.groups ?? []))] }
  }
  fc.assert(
    fc.property(arbitraryRules, arbitraryDevice, (rules, facts) => {
      const flattened = rules.map((rule) => ({
        ...rule,
        from: flatten(rule.from),
        ...(rule.except && { except: flatten(rule.except) }),
      }))
      const [nested, plain] = [compile(world(rules)), compile(world(flattened))]
      assert.deepEqual(selectVariant(nested, facts, NOW), selectVariant(plain, facts, NOW))
    }),
    options,
  )
})

test('a deny of everything for everyone leaves nothing', () => {
  fc.assert(
    fc.property(arbitraryRules, arbitraryDevice, arbitraryContext, arbitraryTarget, (rules, facts, context, target) => {
      const compiled = compile(world([...rules, { id: 'stop', action: 'deny', from: { any: true }, to: ['*'] }]))
      assert.equal(decide(compiled, facts, context, target).decision, 'deny')
    }),
    options,
  )
})

test('one more deny never allows, one more allow never denies', () => {
  fc.assert(
    fc.property(
      arbitraryRules,
      arbitraryRule,
      arbitraryDevice,
      arbitraryContext,
      arbitraryTarget,
      (rules, more, facts, context, target) => {
        const before = decide(compile(world(rules)), facts, context, target).decision
        const after = decide(compile(world([...rules, { ...more, id: 'more' }])), facts, context, target).decision
        if (before !== after) assert.equal(after, more.action)
      },
    ),
    options,
  )
})

test('where no rule matches, the answer is no, and so it is without rules', () => {
  fc.assert(
    fc.property(arbitraryRules, arbitraryDevice, arbitraryContext, arbitraryTarget, (rules, facts, context, target) => {
      const { decision, rule_id, rules: explained } = decide(compile(world(rules)), facts, context, target)
      if (!explained.some((rule) => rule.matched)) assert.deepEqual([decision, rule_id], ['deny', null])
      const deciding = explained.find((rule) => rule.rule_id === rule_id)
      if (deciding) assert.ok(deciding.matched && deciding.action === decision)
    }),
    options,
  )
})

test('a decision stands until it says', () => {
  fc.assert(
    fc.property(
      arbitraryRules,
      arbitraryDevice,
      arbitraryContext,
      arbitraryTarget,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (rules, facts, context, target, part) => {
        const compiled = compile(world(rules))
        const { decision, valid_until } = decide(compiled, facts, context, target)
        const end = valid_until ?? context.at + 1e12
        assert.ok(end > context.at)
        const at = context.at + Math.floor((end - 1 - context.at) * part)
        assert.equal(decide(compiled, facts, { ...context, at }, target).decision, decision)
      },
    ),
    options,
  )
})

test('a rule for others leaves the content of a variant alone', () => {
  fc.assert(
    fc.property(arbitraryRules, arbitraryRule, arbitraryDevice, (rules, more, facts) => {
      if (isNamed(more.from, facts) && !isNamed(more.except, facts)) return
      const [before, after] = [compile(world(rules)), compile(world([...rules, { ...more, id: 'more' }]))]
      const content = (compiled: typeof before) =>
        JSON.stringify(variantContent(compiled, selectVariant(compiled, facts, NOW)))
      assert.equal(content(before), content(after))
    }),
    options,
  )
})

test('a stored policy compiles to the same', () => {
  fc.assert(
    fc.property(arbitraryRules, arbitraryDevice, (rules, facts) => {
      const resolved = resolve({ schema: 'holdfast.policy/1', ...world(rules) })
      const [one, other] = [compilePolicy(resolved), compilePolicy(JSON.parse(JSON.stringify(resolved)))]
      assert.deepEqual(selectVariant(one, facts, NOW), selectVariant(other, facts, NOW))
    }),
    { numRuns: 25 },
  )
})

test('a group that shares its name with a property of objects is a group', () => {
  const compiled = compile({
    groups: { constructor: { users: ['alice'] } },
    rules: [{ id: 'r', action: 'allow', from: { groups: ['constructor', 'toString'] }, to: ['*'] }],
  })
  assert.equal(selectVariant(compiled, device(), NOW).rules.length, 1)
  assert.equal(selectVariant(compiled, device({ user_id: 'bob', group_ids: ['toString'] }), NOW).rules.length, 1)
  assert.equal(selectVariant(compiled, device({ user_id: 'bob', group_ids: ['valueOf'] }), NOW).rules.length, 0)
})
