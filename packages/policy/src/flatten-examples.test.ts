import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionContext } from './conditions.ts'
import { type Box, flatten } from './flatten.ts'
import type { VariantContent } from './variant.ts'

const variant = (rules: VariantContent['rules'], resources: VariantContent['resources'] = {}): VariantContent => ({
  schema: 'holdfast.policy/1',
  rules,
  resources,
  settings: {},
  gateway_pools: [],
  posture_checks: [],
})
const at = (text: string): number => Date.parse(text)
const at1 = { pool: 'eu', at: at('2027-01-04T12:00:00Z'), connection: {}, names: new Map<string, string[]>() }
const spell = ({ first, last, protocol, ports, log }: Box): string =>
  [`${first}-${last}`, protocol, ...(ports ? [ports.join('-')] : []), ...log].join(' ')
const spelled = (content: VariantContent, asked: Parameters<typeof flatten>[1] = at1) =>
  flatten(content, asked).boxes.map(spell)

test('boxes combine the ports of rule and resource, a denied part and logging', () => {
  const content = variant(
    [
      { id: 'a', action: 'allow', to: ['app'], ports: ['tcp/1-1000', 'icmp'] },
      { id: 'b', action: 'allow', to: ['10.1.0.8/31'], ports: ['tcp/443'], log: true },
      { id: 'c', action: 'deny', to: ['10.1.0.4/32'], ports: ['tcp/80-90'] },
    ],
    { app: { cidrs: ['10.1.0.0/29', 'fd00::/127'], ports: ['tcp/80-99', 'icmp', 'udp/53'] } },
  )
  assert.deepEqual(spelled(content), [
    'fd00::-fd00::1 tcp 80-99',
    'fd00::-fd00::1 icmp',
    '10.1.0.0-10.1.0.3 tcp 80-99',
    '10.1.0.0-10.1.0.7 icmp',
    '10.1.0.4-10.1.0.4 tcp 91-99',
    '10.1.0.5-10.1.0.7 tcp 80-99',
    '10.1.0.8-10.1.0.9 tcp 443-443 b',
  ])
})

test('a rule to everything is two boxes per protocol, one per address family', () => {
  const all = variant([{ id: 'a', action: 'allow', to: ['*'], ports: ['tcp/*'] }])
  const last = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
  assert.deepEqual(spelled(all), [`::-${last} tcp 1-65535`, '0.0.0.0-255.255.255.255 tcp 1-65535'])
})

test('via overrides the pool of a resource; a deny rule counts at every pool', () => {
  const resources = { far: { cidrs: ['10.2.0.0/32'], pool: 'us' }, near: { cidrs: ['10.3.0.0/32'], pool: 'eu' } }
  const tcp = { ports: ['tcp/22'] }
  const rules: VariantContent['rules'] = [
    { id: 'a', action: 'allow', to: ['far'], via: ['eu'], ...tcp },
    { id: 'b', action: 'allow', to: ['near', 'far', '10.4.0.0/32'], ...tcp },
  ]
  const [far, near, any] = ['10.2.0.0', '10.3.0.0', '10.4.0.0'].map((ip) => `${ip}-${ip} tcp 22-22`)
  assert.deepEqual(spelled(variant(rules, resources)), [far, near, any])
  assert.deepEqual(spelled(variant(rules, resources), { ...at1, pool: 'us' }), [far, any])
  const denied = variant([...rules, { id: 'c', action: 'deny', to: ['near'], via: ['us'] }], resources)
  assert.deepEqual(spelled(denied), [far, any])
})

test('names and services are placed where the gateway resolves them', () => {
  const content = variant(
    [
      { id: 'a', action: 'allow', to: ['web', 'svc'] },
      { id: 'b', action: 'deny', to: ['bad'] },
    ],
    {
      web: { dns: ['*.corp.example', 'Git.example.'], ports: ['tcp/443'] },
      svc: { services: ['metrics', 'constructor'], ports: ['tcp/9090'] },
      bad: { dns: ['x.corp.example'] },
    },
  )
  const names = new Map([
    ['a.b.CORP.example', ['10.0.0.1', 'fd00::1']],
    ['git.example', ['10.0.0.2', 'nonsense']],
    ['x.corp.example', ['10.0.0.3']],
    ['corp.example', ['10.0.0.4']],
  ])
  const services = new Map([['metrics', ['10.9.0.0/30']]])
  assert.deepEqual(spelled(content, { ...at1, names, services }), [
    'fd00::1-fd00::1 tcp 443-443',
    '10.0.0.1-10.0.0.2 tcp 443-443',
    '10.9.0.0-10.9.0.3 tcp 9090-9090',
  ])
  // An address that a denied name also resolves to is denied.
  const shared = new Map([...names, ['x.corp.example', ['10.0.0.1']]])
  assert.deepEqual(spelled(content, { ...at1, names: shared }), [
    'fd00::1-fd00::1 tcp 443-443',
    '10.0.0.2-10.0.0.2 tcp 443-443',
  ])
  assert.deepEqual(spelled(content), [])
})

test('valid_until is the next end of a window, rule or second factor, to the millisecond', () => {
  const office = { from: '08:00', to: '18:00', zone: 'Europe/Berlin' }
  const rule = { id: 'a', action: 'allow', to: ['10.0.0.0/32'] } as const
  const untilOf = (more: Partial<VariantContent['rules'][number]>, connection: Omit<ConnectionContext, 'at'> = {}) => {
    const content = variant([{ ...rule, ...more }])
    const { boxes, valid_until } = flatten(content, { ...at1, connection })
    assert.ok(boxes.length > 0 && valid_until !== null)
    assert.deepEqual(flatten(content, { ...at1, connection, at: valid_until - 1 }).boxes, boxes)
    assert.deepEqual(flatten(content, { ...at1, connection, at: valid_until }).boxes, [])
    return new Date(valid_until).toISOString()
  }
  assert.equal(untilOf({ when: { time: [office] } }), '2027-01-04T17:00:00.000Z')
  assert.equal(untilOf({ expires_at: '2027-01-04T13:00:00Z' }), '2027-01-04T13:00:00.000Z')
  const proved = { mfa_at: at('2027-01-04T11:30:00Z') }
  assert.equal(untilOf({ when: { mfa_within_seconds: 3_600 } }, proved), '2027-01-04T12:30:00.001Z')
  assert.equal(flatten(variant([rule]), at1).valid_until, null)
  // A rule through another pool has no effect here.
  const elsewhere = variant([{ ...rule, via: ['us'], when: { time: [office] } }])
  assert.deepEqual(flatten(elsewhere, at1), { boxes: [], valid_until: null })
})

test('200 rules can log the same connections', () => {
  const ids = Array.from({ length: 200 }, (_, i) => `r${String(i).padStart(3, '0')}`)
  const rules = ids.map((id, i) => ({
    id,
    action: 'allow' as const,
    to: ['10.0.0.0/8'],
    ports: [`tcp/1-${i + 1}`],
    log: true as const,
  }))
  const { boxes } = flatten(variant(rules), at1)
  assert.equal(boxes.length, 200)
  assert.deepEqual(boxes[0]?.log, ids)
  assert.deepEqual(boxes.at(-1)?.log, ids.slice(-1))
})
