import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyDocument, PolicyRule } from '@holdfast/contract/policy-document'
import type { PolicyContent } from '@holdfast/sdk'
import { type Directory, type Facts, planDirectory, type SimDevice } from './directory.ts'
import { difference } from './judge.ts'
import { expectPeers, expectPolicy, keyOf, readPolicy } from './oracle.ts'
import { createRandom } from './random.ts'

const now = Date.parse('2026-03-04T12:00:00Z')

/** A directory in which device 0 belongs to user 0, a member of `engineering` and perhaps of other groups. */
function makeFleet(): { directory: Directory; device: SimDevice } {
  const directory = planDirectory(createRandom(3), { devices: 20, gateways: 3 })
  for (const group of directory.groups) group.id = `grp_${group.name}`
  for (const user of directory.users) user.id = `usr_${user.username}`
  for (const pool of directory.pools) pool.id = `gwp_${pool.name}`
  for (const each of directory.devices) each.id = `dev_${each.index}`
  const device = directory.devices[0]
  if (!device?.user) throw new Error('device 0 has a user')
  device.user.groups = new Set(['engineering'])
  device.user.tags = device.tags = ['byod']
  return { directory, device }
}

const rule = (id: string, more: Partial<PolicyRule>): PolicyRule => ({
  id,
  action: 'allow',
  from: { any: true },
  to: ['*'],
  ...more,
})
const policy = (rules: PolicyRule[], more: Partial<PolicyDocument> = {}): PolicyDocument => ({
  schema: 'holdfast.policy/1',
  rules,
  ...more,
})
const heldOf = (document: PolicyDocument, facts: Facts | null = null) => {
  const { directory, device } = makeFleet()
  return expectPolicy(document, directory, { ...device, facts }, now).rules.map(({ id }) => id)
}

test('a rule applies to a device by its user, groups, tags or id, unless it is excepted', () => {
  const rules = [
    rule('by-email', { from: { users: ['user-00000@corp.example'] } }),
    rule('by-group', { from: { groups: ['engineering'] } }),
    rule('by-group-id', { from: { groups: ['grp_engineering'] } }),
    rule('by-tag', { from: { tags: ['byod'] } }),
    rule('by-id', { from: { devices: ['dev_0'] } }),
    rule('excepted', { except: { tags: ['byod'] } }),
    rule('other', { from: { groups: ['finance'], users: ['user-00001'], devices: ['dev_1'] } }),
  ]
  assert.deepEqual(heldOf(policy(rules)), ['by-email', 'by-group', 'by-group-id', 'by-id', 'by-tag'])
})

test('a group of the document hides the directory group of the same name, and nests to any depth', () => {
  const groups = {
    outer: { groups: ['inner'] },
    inner: { groups: ['engineering'] },
    finance: { users: ['user-00000'] },
  }
  const rules = [rule('nested', { from: { groups: ['outer'] } }), rule('hidden', { from: { groups: ['finance'] } })]
  assert.deepEqual(heldOf(policy(rules, { groups })), ['hidden', 'nested'])
  assert.deepEqual(heldOf(policy(rules, { groups: { ...groups, inner: { users: ['user-00001'] } } })), ['hidden'])
})

test('unknown posture fails an allow rule and never disables a deny rule', () => {
  const checks = { posture_checks: { disk: { expression: 'disk.encrypted' } } }
  const when = { posture: ['disk'] }
  const document = policy([rule('allow', { when }), rule('deny', { action: 'deny', when })], checks)
  assert.deepEqual(heldOf(document, null), ['deny'])
  assert.deepEqual(heldOf(document, {}), ['deny'])
  assert.deepEqual(heldOf(document, { 'disk.encrypted': true }), ['allow', 'deny'])
  assert.deepEqual(heldOf(document, { 'disk.encrypted': false }), [])
  const warned = policy(document.rules, {
    posture_checks: { disk: { expression: 'disk.encrypted', enforcement: 'warn' } },
  })
  assert.deepEqual(heldOf(warned, { 'disk.encrypted': false }), ['allow', 'deny'])
})

const content = (more: Partial<PolicyContent['rules'][number]>): PolicyContent => ({
  schema: 'holdfast.policy/1',
  rules: [{ id: 'r', action: 'allow', to: ['db'], ports: ['tcp/5432'], via: ['gwp_north'], ...more }],
  resources: { db: { cidrs: ['10.0.0.5/32'], pool: 'gwp_south' } },
  settings: {},
  gateway_pools: ['gwp_north', 'gwp_south'],
  posture_checks: [],
})

test('policies are compared by meaning: order and spelling do not count, everything else does', () => {
  const { directory, device } = makeFleet()
  const document = policy([rule('r', { to: ['db'], ports: ['tcp/5432'], via: ['north'] })], {
    resources: { db: { cidrs: ['10.0.0.5'], pool: 'south', description: 'not for devices' } },
  })
  const want = expectPolicy(document, directory, device, now)
  assert.equal(keyOf(readPolicy(content({}))), keyOf(want))
  for (const changed of [
    { ports: ['tcp/5433'] },
    { via: ['gwp_edge'] },
    { action: 'deny' as const },
    { when: { countries: ['DE'] } },
    { expires_at: '2030-01-01T00:00:00Z' },
    { log: true as const },
    { to: ['*'] },
  ]) {
    const got = readPolicy(content(changed))
    assert.notEqual(keyOf(got), keyOf(want), JSON.stringify(changed))
    assert.match(difference(want, got), /^rule r: expected /)
  }
  assert.equal(difference(want, { ...want, rules: [] }), 'expected rule r, got none')
})

test('the peers of a gateway are the devices that an allow rule leads through its pool', () => {
  const { directory, device } = makeFleet()
  const resources = { db: { cidrs: ['10.0.0.5'], pool: 'south' } }
  const poolsOf = (each: PolicyRule) =>
    directory.gateways
      .filter((gateway) => expectPeers(() => policy([each], { resources }), directory, gateway, now).includes(device))
      .map(({ pool }) => pool.name)
  assert.deepEqual(poolsOf(rule('any', {})), ['north', 'south', 'edge'])
  assert.deepEqual(poolsOf(rule('via', { via: ['edge'] })), ['edge'])
  assert.deepEqual(poolsOf(rule('pooled', { to: ['db'] })), ['south'])
  assert.deepEqual(poolsOf(rule('deny', { action: 'deny' })), [])
  device.status = 'suspended'
  assert.deepEqual(poolsOf(rule('any', {})), [])
})
