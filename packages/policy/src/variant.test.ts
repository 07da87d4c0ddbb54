import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile, device, NOW } from '../test/support/policies.ts'
import { selectVariant } from './select.ts'
import { variantContent } from './variant.ts'

const compiled = compile({
  hosts: { bastion: '10.9.0.1' },
  resources: {
    db: { description: 'the crown jewels', cidrs: ['10.1.0.0/16'], ports: ['tcp/5433', 'tcp/5432'], pool: 'eu' },
    payroll: { cidrs: ['10.2.0.0/16'], pool: 'secret' },
  },
  posture_checks: {
    disk: { expression: 'disk.encrypted', remediation: 'Encrypt the disk.' },
    quiet: { expression: 'custom.watched', enforcement: 'audit', remediation: 'not shown' },
  },
  rules: [
    {
      id: 'z-eng',
      description: 'for alice, whom we watch',
      action: 'allow',
      from: { users: ['alice'] },
      except: { tags: ['kiosk'] },
      to: ['db', 'bastion', '192.0.2.0/24'],
      ports: ['tcp/5432', 'tcp/22'],
      when: {
        posture: ['disk', 'quiet'],
        countries: ['US', 'DE'],
        time: [{ days: ['tue', 'mon'], from: '08:00', to: '18:00', zone: 'UTC' }],
        mfa_within_seconds: 60,
      },
      via: ['us'],
      expires_at: '2027-06-01T00:00:00+02:00',
      log: true,
    },
    { id: 'a-stop', action: 'deny', from: { any: true }, to: ['*'], ports: ['tcp/25'] },
    { id: 'payroll', action: 'allow', from: { users: ['mallory'] }, to: ['payroll'] },
  ],
  settings: { mtu: 1_400 },
})
const contentFor = (facts: Parameters<typeof device>[0]) =>
  variantContent(compiled, selectVariant(compiled, device(facts), NOW))
const encrypted = { facts: { 'disk.encrypted': true }, reported_at: NOW }

test('a device sees the rules that concern it, what they name, and nothing of anyone else', () => {
  assert.deepEqual(contentFor({ posture: encrypted }), {
    schema: 'holdfast.policy/1',
    rules: [
      { id: 'a-stop', action: 'deny', to: ['*'], ports: ['tcp/25'] },
      {
        id: 'z-eng',
        action: 'allow',
        to: ['192.0.2.0/24', 'bastion', 'db'],
        ports: ['tcp/22', 'tcp/5432'],
        when: {
          time: [{ from: '08:00', to: '18:00', zone: 'UTC', days: ['mon', 'tue'] }],
          countries: ['DE', 'US'],
          mfa_within_seconds: 60,
        },
        via: ['us'],
        expires_at: '2027-05-31T22:00:00.000Z',
        log: true,
      },
    ],
    resources: {
      bastion: { cidrs: ['10.9.0.1/32'] },
      db: { cidrs: ['10.1.0.0/16'], ports: ['tcp/5432-5433'], pool: 'eu' },
    },
    settings: { mtu: 1_400 },
    gateway_pools: ['eu', 'us'],
    posture_checks: [{ id: 'disk', remediation: 'Encrypt the disk.' }],
  })
})

test('a rule that posture switched off is gone, but what the user can do about it is told', () => {
  const content = contentFor({})
  assert.deepEqual(
    content.rules.map(({ id }) => id),
    ['a-stop'],
  )
  assert.deepEqual([content.resources, content.gateway_pools], [{}, []])
  assert.deepEqual(content.posture_checks, [{ id: 'disk', remediation: 'Encrypt the disk.' }])
})

test('an exception hides the rule and its checks', () => {
  const content = contentFor({ tags: ['kiosk'], posture: encrypted })
  assert.deepEqual([content.rules.map(({ id }) => id), content.posture_checks], [['a-stop'], []])
})

test('a stale report is when the selection ends', () => {
  assert.equal(selectVariant(compiled, device({ posture: encrypted }), NOW).valid_until, NOW + 3_600_000)
  assert.equal(selectVariant(compiled, device({ user_id: 'mallory' }), NOW).valid_until, null)
})
