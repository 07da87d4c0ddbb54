import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyDocument, PolicyRule } from '@holdfast/contract/policy-document'
import fc from 'fast-check'
import { arbitraryDevice, arbitraryRules, device, NOW, resolve, world } from '../test/support/policies.ts'
import { compilePolicy } from './compile.ts'
import { diffPolicies } from './diff.ts'
import { createImpact } from './impact.ts'
import { selectVariant } from './select.ts'
import { variantContent } from './variant.ts'

const eng: PolicyRule = { id: 'eng', action: 'allow', from: { groups: ['eng'] }, to: ['db'] }
const bob: PolicyRule = {
  id: 'bob',
  action: 'allow',
  from: { users: ['bob'] },
  to: ['10.3.0.0/16'],
  when: { posture: ['disk'] },
}
const base = {
  groups: { eng: { users: ['alice'], groups: ['dev'] } },
  resources: { db: { cidrs: ['10.1.0.0/16', '10.2.0.0/16'], ports: ['tcp/1-10'] } },
  posture_checks: { disk: { expression: 'disk.encrypted' } },
  rules: [eng, bob],
}
const policy = (change: Partial<PolicyDocument> = {}) => resolve({ schema: 'holdfast.policy/1', ...base, ...change })
const change = (after: Partial<PolicyDocument>) => diffPolicies(policy(), policy(after))
const changed = (...ids: string[]) => ({ rules_added: [], rules_removed: [], rules_changed: ids })

test('rules come, go and change', () => {
  assert.deepEqual(diffPolicies(null, policy()), { rules_added: ['bob', 'eng'], rules_removed: [], rules_changed: [] })
  assert.deepEqual(
    change({
      rules: [
        { ...eng, action: 'deny' },
        { ...bob, id: 'carl' },
      ],
    }),
    { rules_added: ['carl'], rules_removed: ['bob'], rules_changed: ['eng'] },
  )
})

test('a rule changes with what it names, and not with what it does not', () => {
  assert.deepEqual(change({ groups: { eng: { users: ['alice', 'eve'], groups: ['dev'] } } }), changed('eng'))
  assert.deepEqual(change({ resources: { db: { cidrs: ['10.1.0.0/16'] } } }), changed('eng'))
  assert.deepEqual(change({ posture_checks: { disk: { expression: 'disk.encrypted && custom.a' } } }), changed('bob'))
  assert.deepEqual(
    change({ resources: { ...base.resources, other: { dns: ['a.b'] } }, settings: { mtu: 1_400 } }),
    changed(),
  )
  const other = { ...policy(), users: { alice: 'usr_1', bob: 'usr_2' } }
  assert.deepEqual(diffPolicies(policy(), other), changed('bob', 'eng'))
})

test('order changes nothing', () => {
  const resources = { db: { ports: ['tcp/1-10'], cidrs: ['10.2.0.0/16', '10.1.0.0/16'] } }
  assert.deepEqual(change({ resources, rules: [...base.rules].reverse() }), changed())
})

const impact = (
  before: Partial<PolicyDocument> | null,
  after: Partial<PolicyDocument>,
  devices = [device(), device({ user_id: 'eve', group_ids: ['dev'] }), device({ user_id: 'mallory' })],
) => {
  const counter = createImpact(before && compilePolicy(policy(before)), compilePolicy(policy(after)))
  for (const facts of devices) counter.add(facts, NOW)
  return counter.result()
}

test('impact counts devices and what they gain and lose', () => {
  assert.deepEqual(impact(null, {}), { devices_examined: 3, devices_affected: 3, grants_gained: 4, grants_lost: 0 })
  assert.deepEqual(impact({}, {}), { devices_examined: 3, devices_affected: 0, grants_gained: 0, grants_lost: 0 })
  assert.deepEqual(impact({}, { rules: [] }), {
    devices_examined: 3,
    devices_affected: 2,
    grants_gained: 0,
    grants_lost: 4,
  })
  assert.deepEqual(impact({}, { rules: [{ ...eng, id: 'renamed' }] }), {
    devices_examined: 3,
    devices_affected: 2,
    grants_gained: 0,
    grants_lost: 0,
  })
  assert.deepEqual(impact({}, { settings: { mtu: 1_400 } }), {
    devices_examined: 3,
    devices_affected: 3,
    grants_gained: 0,
    grants_lost: 0,
  })
})

test('a deny takes grants away: all of a network, or the ports it names', () => {
  const deny = (to: string, ports?: string[]): PolicyRule => ({
    id: 'deny',
    action: 'deny',
    from: { any: true },
    to: [to],
    ...(ports && { ports }),
  })
  const lost = (rule: PolicyRule) => {
    const { grants_gained, grants_lost } = impact({}, { rules: [...base.rules, rule] }, [device()])
    return [grants_gained, grants_lost]
  }
  assert.deepEqual(lost(deny('*')), [0, 2])
  assert.deepEqual(lost(deny('10.1.0.0/16')), [0, 1])
  assert.deepEqual(lost(deny('10.1.0.0/16', ['tcp/3'])), [1, 1])
  assert.deepEqual(lost(deny('10.1.0.0/16', ['tcp/99'])), [0, 0])
})

test('a device is affected exactly when its variant changes', () => {
  fc.assert(
    fc.property(arbitraryRules, arbitraryRules, arbitraryDevice, (before, after, facts) => {
      const policies = [before, after].map((rules) =>
        compilePolicy(resolve({ schema: 'holdfast.policy/1', ...world(rules) })),
      )
      const [one, other] = policies
      assert.ok(one && other)
      const counter = createImpact(one, other)
      counter.add(facts, NOW)
      const [a, b] = policies.map((compiled) =>
        JSON.stringify(variantContent(compiled, selectVariant(compiled, facts, NOW))),
      )
      assert.equal(counter.result().devices_affected === 1, a !== b)
    }),
    { numRuns: 300 },
  )
})

test('a check that is only watched affects nobody when a rule no longer asks for it', () => {
  const rule = (posture: string[]): PolicyRule => ({
    id: 'r0',
    action: 'allow',
    from: { any: true },
    to: ['db'],
    when: { posture },
  })
  const { devices_affected } = impact(world([rule(['disk', 'watched'])]), world([rule(['disk'])]), [device()])
  assert.equal(devices_affected, 0)
})
