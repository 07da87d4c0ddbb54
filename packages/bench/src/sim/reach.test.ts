import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyDocument, PolicyRule } from '@holdfast/contract/policy-document'
import type { Box } from '@holdfast/policy'
import { firstDifference } from './boxes.ts'
import { edgesOf, reachAt, type Seen } from './reach.ts'

const rule = (id: string, more: Partial<PolicyRule>): PolicyRule => ({
  id,
  action: 'allow',
  from: { any: true },
  to: ['app'],
  ...more,
})
const document = (...rules: PolicyRule[]): PolicyDocument => ({
  schema: 'holdfast.policy/1',
  resources: {
    app: { cidrs: ['10.0.0.0/30'], dns: ['*.example'], ports: ['tcp/80-81', 'icmp'], pool: 'north' },
    svc: { services: ['metrics'], ports: ['udp/53'] },
  },
  rules,
})
const noon = Date.parse('2026-03-04T12:00:00Z')
const ids = (policy: PolicyDocument, pool = 'north', seen: Partial<Seen> = {}) =>
  reachAt(policy, policy.rules, pool, { at: noon, ...seen }).map((each) => each.rule.id)

test('the reach at a gateway follows from pool, expiry, time, country, network and second factor of each rule', () => {
  const night = { time: [{ days: ['tue' as const], from: '22:00', to: '06:00', zone: 'Europe/Berlin' }] }
  const policy = document(
    rule('elsewhere', { via: ['south'] }),
    rule('over', { expires_at: '2026-03-04T12:00:00Z' }),
    rule('night', { when: night }),
    rule('abroad', { when: { countries: ['US'] } }),
    rule('office', { when: { cidrs: ['192.0.2.0/24', '2001:db8::/32'] } }),
    rule('fresh', { when: { mfa_within_seconds: 60 } }),
    rule('never', { action: 'deny', via: ['south'], when: { countries: ['US'], mfa_within_seconds: 60 } }),
  )
  assert.deepEqual(ids(policy), ['never'], 'unknown conditions refuse')
  assert.deepEqual(ids(policy, 'south'), ['elsewhere', 'never'])
  const seen = { country: 'US', source_ip: '2001:db8::9', mfa_at: noon - 60_000 }
  assert.deepEqual(ids(policy, 'north', seen), ['abroad', 'office', 'fresh', 'never'])
  assert.deepEqual(ids(policy, 'north', { ...seen, country: 'DE', mfa_at: noon - 60_001 }), ['office'])
  for (const [time, isThere] of [
    ['2026-03-03T20:59:59Z', false],
    ['2026-03-03T21:00:00Z', true],
    ['2026-03-04T04:59:59Z', true],
    ['2026-03-04T05:00:00Z', false],
    ['2026-03-04T22:00:00Z', false],
  ] as const)
    assert.equal(ids(policy, 'north', { at: Date.parse(time) }).includes('night'), isThere, time)
})

const box = (first: string, last: string, protocol: Box['protocol'], ports: Box['ports']): Box => ({
  family: first.includes(':') ? 'ipv6' : 'ipv4',
  first,
  last,
  protocol,
  ports,
  log: [],
})

test('one missing, extra or doubled address or port is reported', () => {
  const policy = document(
    rule('all', { to: ['app', 'svc'] }),
    rule('less', { action: 'deny', to: ['10.0.0.2'], ports: ['tcp/81'] }),
  )
  const found = { names: new Map([['a.example', ['fd00::1']]]), services: new Map([['metrics', ['fd00:9::/127']]]) }
  const reach = reachAt(policy, policy.rules, 'north', { at: noon })
  const right = [
    box('fd00::1', 'fd00::1', 'tcp', [80, 81]),
    box('fd00::1', 'fd00::1', 'icmp', null),
    box('fd00:9::', 'fd00:9::1', 'udp', [53, 53]),
    box('10.0.0.0', '10.0.0.3', 'tcp', [80, 80]),
    box('10.0.0.0', '10.0.0.3', 'icmp', null),
    box('10.0.0.0', '10.0.0.1', 'tcp', [81, 81]),
    box('10.0.0.3', '10.0.0.3', 'tcp', [81, 81]),
  ]
  const differs = (boxes: readonly Box[]) => firstDifference(policy, found, reach, boxes)
  assert.equal(differs(right), undefined)
  for (const [i, one] of right.entries()) {
    assert.ok(differs(right.toSpliced(i, 1)), `without ${JSON.stringify(one)}`)
    assert.ok(differs([...right, one]), `twice ${JSON.stringify(one)}`)
  }
  const wrong: [number, Partial<Box>][] = [
    [0, { ports: [80, 82] }],
    [0, { ports: [79, 81] }],
    [2, { protocol: 'tcp' }],
    [2, { last: 'fd00:9::2' }],
    [3, { last: '10.0.0.2' }],
    [5, { last: '10.0.0.2' }],
    [6, { last: '10.0.0.4' }],
  ]
  for (const [i, change] of wrong)
    assert.ok(
      differs(right.map((each, n) => (n === i ? { ...each, ...change } : each))),
      `${i} ${JSON.stringify(change)}`,
    )
  assert.ok(edgesOf(policy, found, right).addresses.includes('10.0.0.4'))
})
