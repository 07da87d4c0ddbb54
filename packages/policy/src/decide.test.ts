import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyConditions, PolicyRule } from '@holdfast/contract/policy-document'
import { compile, device, NOW } from '../test/support/policies.ts'
import type { ConnectionContext } from './conditions.ts'
import { decide } from './decide.ts'

const at = (text: string): number => Date.parse(text)
const db = {
  resources: { db: { cidrs: ['10.1.0.0/16'] } },
  posture_checks: {
    disk: { expression: 'disk.encrypted' },
    seen: { expression: 'custom.x', enforcement: 'audit' as const },
  },
}
const rule = (
  id: string,
  action: 'allow' | 'deny',
  when?: PolicyConditions,
  more: Partial<PolicyRule> = {},
): PolicyRule => ({
  id,
  action,
  from: { any: true },
  to: ['db'],
  ...(when && { when }),
  ...more,
})
const ask = (rules: PolicyRule[], context: Partial<ConnectionContext> = {}, facts = device()) =>
  decide(compile({ ...db, rules }), facts, { at: NOW, ...context }, { name: 'db' })

const office = { time: [{ from: '08:00', to: '18:00', zone: 'Europe/Berlin' }] }

test('a decision names its rule, its reason and its end', () => {
  const { decision, rule_id, reason, valid_until } = ask([rule('office', 'allow', office)])
  assert.deepEqual([decision, rule_id, valid_until], ['allow', 'office', at('2027-01-04T17:00:00Z')])
  assert.equal(reason, 'rule "office" allows it')
})

test('a refusal names the failed condition of the nearest rule, and when that changes', () => {
  const result = ask([rule('office', 'allow', { ...office, countries: ['DE'] })], {
    at: at('2027-01-04T20:00:00Z'),
    country: 'DE',
  })
  assert.equal(result.reason, 'rule "office" would allow it, but these conditions are not met: time')
  assert.equal(result.valid_until, at('2027-01-05T07:00:00Z'))
  assert.deepEqual(
    result.rules[0]?.conditions.map(({ property, actual, passed }) => [property, actual, passed]),
    [
      ['time', '2027-01-04T20:00:00.000Z', false],
      ['country', 'DE', true],
    ],
  )
})

test('an allow decision ends when a deny rule begins', () => {
  const night = { time: [{ from: '14:00', to: '15:00', zone: 'UTC' }] }
  assert.equal(ask([rule('a', 'allow'), rule('d', 'deny', night)]).valid_until, at('2027-01-04T14:00:00Z'))
})

test('of two allow rules the one that lasts longer decides', () => {
  const { rule_id, valid_until } = ask([rule('a', 'allow', office), rule('b', 'allow')])
  assert.deepEqual([rule_id, valid_until], ['b', null])
})

const known = { country: 'DE', source_ip: '192.0.2.1', mfa_at: NOW - 10_000 }
const encrypted = device({ posture: { facts: { 'disk.encrypted': true }, reported_at: NOW } })
const open = device({ posture: { facts: { 'disk.encrypted': false }, reported_at: NOW } })
const conditions: [
  string,
  PolicyConditions,
  Partial<ConnectionContext>,
  ReturnType<typeof device>,
  Partial<ConnectionContext>,
  ReturnType<typeof device>,
][] = [
  ['country', { countries: ['DE'] }, known, device(), { country: 'FR' }, device()],
  ['source', { cidrs: ['192.0.2.0/24'] }, known, device(), { source_ip: '203.0.113.1' }, device()],
  ['mfa', { mfa_within_seconds: 60 }, known, device(), { mfa_at: NOW - 60_001 }, device()],
  ['posture', { posture: ['disk'] }, {}, encrypted, {}, open],
]
for (const [name, when, met, metBy, unmet, unmetBy] of conditions) {
  test(`${name}: a known value decides for both actions; an unknown one fails an allow and keeps a deny`, () => {
    const allows = (context: Partial<ConnectionContext>, facts: ReturnType<typeof device>) =>
      ask([rule('a', 'allow', when)], context, facts).decision
    const denies = (context: Partial<ConnectionContext>, facts: ReturnType<typeof device>) =>
      ask([rule('a', 'allow'), rule('d', 'deny', when)], context, facts).decision
    assert.deepEqual([allows(met, metBy), allows(unmet, unmetBy), allows({}, device())], ['allow', 'deny', 'deny'])
    assert.deepEqual([denies(met, metBy), denies(unmet, unmetBy), denies({}, device())], ['deny', 'allow', 'deny'])
  })
}

test('only an enforced check disables a rule', () => {
  assert.equal(ask([rule('a', 'allow', { posture: ['seen'] })]).decision, 'allow')
})

test('a rule ends at its expiry to the millisecond, for both actions', () => {
  const expires_at = '2027-01-04T12:00:00Z'
  assert.equal(ask([rule('a', 'allow', undefined, { expires_at })], { at: NOW - 1 }).decision, 'allow')
  assert.equal(ask([rule('a', 'allow', undefined, { expires_at })]).decision, 'deny')
  assert.equal(ask([rule('a', 'allow'), rule('d', 'deny', undefined, { expires_at })]).decision, 'allow')
})

test('an unknown target is refused by name', () => {
  const compiled = compile({ ...db, rules: [rule('a', 'allow', undefined, { to: ['*'] })] })
  assert.match(decide(compiled, device(), { at: NOW }, { name: 'bd' }).reason, /unknown resource or host "bd"/)
  assert.match(decide(compiled, device(), { at: NOW }, { address: '10.1' }).reason, /not an IP address/)
})

test('a rule that would allow, but excepts the device, says so', () => {
  const of = (from: PolicyRule['from']) =>
    ask(
      [rule('a', 'allow', undefined, { from, except: { tags: ['kiosk'] } })],
      {},
      device({ tags: ['kiosk'] }),
    ).would_allow.map(({ sentence }) => sentence)
  assert.deepEqual(of({ any: true }), ['excludes this device in "except"'])
  assert.deepEqual(of({ tags: ['admin'] }), [
    'needs tag admin; the device has tag kiosk; and it excludes this device in "except"',
  ])
})
