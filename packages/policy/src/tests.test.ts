import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyTest } from '@holdfast/contract/policy-document'
import { compile, NOW } from '../test/support/policies.ts'
import { runPolicyTests } from './tests.ts'

const run = (tests: Omit<PolicyTest, 'name'>[]) => {
  const compiled = compile({
    groups: { inner: { groups: ['dev'] }, outer: { groups: ['inner'] } },
    hosts: { bastion: '10.9.0.1' },
    resources: { db: { cidrs: ['10.1.0.0/16'], ports: ['tcp/5432'] }, wiki: { dns: ['wiki.example.com'] } },
    posture_checks: { disk: { expression: 'disk.encrypted' } },
    rules: [
      {
        id: 'dev',
        action: 'allow',
        from: { groups: ['outer'] },
        to: ['db', 'bastion'],
        when: { time: [{ from: '08:00', to: '18:00', zone: 'UTC' }] },
      },
      {
        id: 'kiosk',
        action: 'allow',
        from: { tags: ['kiosk'], devices: ['dev_7'] },
        to: ['wiki'],
        when: { posture: ['disk'] },
      },
      {
        id: 'abroad',
        action: 'allow',
        from: { users: ['bob'] },
        to: ['wiki'],
        when: { countries: ['NP'], cidrs: ['192.0.2.0/24'], mfa_within_seconds: 60 },
      },
      { id: 'ssh', action: 'deny', from: { any: true }, to: ['*'], ports: ['tcp/22'] },
    ],
    tests: tests.map((entry, i) => ({ name: `t${i}`, ...entry })),
  })
  const groupsOfUser = (user: string) => (user === 'alice' ? ['dev'] : [])
  const device = (id: string) =>
    id === 'dev_8' ? { user_id: 'alice', group_ids: ['dev'], tags: [], platform: 'linux' } : undefined
  return runPolicyTests(compiled, compiled.resolved.document.tests ?? [], { groupsOfUser, device, now: NOW })
}

test('policy tests name users, groups, tags and devices, and targets of every kind', () => {
  const disk = { 'disk.encrypted': true }
  const report = run([
    {
      from: { user: 'alice' },
      allow: ['db', 'db:tcp/5432', '10.1.2.3:tcp/5432', 'bastion:icmp'],
      deny: ['db:tcp/22', 'bastion:tcp/22', '10.1.2.3:tcp/80', 'wiki'],
    },
    { from: { group: 'dev' }, allow: ['db'] },
    { from: { group: 'inner' }, allow: ['db'] },
    { from: { group: 'outer' }, allow: ['db'] },
    { from: { user: 'alice', at: '2027-01-04T18:00:00Z' }, deny: ['db'] },
    { from: { tag: 'kiosk', posture: disk }, allow: ['wiki.example.com:tcp/443', 'wiki'] },
    { from: { tag: 'kiosk' }, deny: ['wiki'] },
    { from: { device: 'dev_7', posture: disk }, allow: ['wiki'] },
    { from: { device: 'dev_8' }, allow: ['db'], deny: ['wiki'] },
    { from: { user: 'bob', country: 'NP', source_ip: '192.0.2.5', mfa_age_seconds: 60 }, allow: ['wiki'] },
    { from: { user: 'bob', country: 'NP', source_ip: '192.0.2.5', mfa_age_seconds: 61 }, deny: ['wiki'] },
  ])
  assert.deepEqual(
    report.results.filter(({ passed }) => !passed),
    [],
  )
  assert.deepEqual([report.passed, report.failed], [11, 0])
})

test('a failed policy test names expected and actual decision, and the reason', () => {
  const { failed, results } = run([{ from: { user: 'alice' }, allow: ['db', 'db:tcp/22'], deny: ['db'] }])
  assert.equal(failed, 1)
  assert.deepEqual(results[0]?.failures, [
    { target: 'db:tcp/22', expected: 'allow', got: 'deny', reason: '"db" does not include this port' },
    { target: 'db', expected: 'deny', got: 'allow', reason: 'rule "dev" allows it' },
  ])
})
