import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conditionsOf, subjectsOf, summaryOf } from './rule-words.ts'

test('conditions are words', () => {
  const when = {
    posture: ['disk', 'patched'],
    mfa_within_seconds: 28_800,
    time: [{ days: ['fri', 'mon', 'tue', 'wed', 'thu'], from: '08:00', to: '18:00', zone: 'Europe/Berlin' }],
    countries: ['DE', 'AT'],
  }
  assert.deepEqual(conditionsOf({ when, ports: ['tcp/22'], expires_at: '2026-12-31T23:00:00Z', log: true }), [
    ...['posture: disk, patched', 'second factor of the last 8 h', 'Mon–Fri 08:00–18:00 Europe/Berlin'],
    ...['from DE, AT', 'ports tcp/22', 'until 2026-12-31T23:00:00Z', 'recorded'],
  ])
  assert.deepEqual(conditionsOf({ when: 'broken', time: 3 }), [])
})

test('both forms of subjects are read, and a broken one shows nothing', () => {
  assert.deepEqual(
    subjectsOf({ group: 'sre', groups: ['on-call'], users: 7, any: true }).map(({ kind, text }) => `${kind} ${text}`),
    ['any any device', 'group sre', 'group on-call'],
  )
  assert.deepEqual(subjectsOf(null), [])
})

test('other entries have one line', () => {
  assert.equal(
    summaryOf({ description: 'x', cidrs: ['10.0.0.0/8'], ports: ['tcp/443'] }),
    'cidrs 10.0.0.0/8 · ports tcp/443',
  )
  assert.equal(summaryOf('10.0.0.1'), '10.0.0.1')
})
