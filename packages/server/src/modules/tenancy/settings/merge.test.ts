import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultSecuritySettings as defaults } from '@holdfast/contract/settings'
import { mergeSections, sectionDifferences } from './merge.ts'

test('given values override, others stay', () => {
  const merged = mergeSections(defaults, { login: { lockout_threshold: 3 }, devices: {} })
  assert.equal(merged.login.lockout_threshold, 3)
  assert.equal(merged.login.lockout_seconds, defaults.login.lockout_seconds)
  assert.deepEqual(merged.devices, defaults.devices)
  assert.equal(defaults.login.lockout_threshold, 10)
})

test('overrides are merged without copying the defaults', () => {
  assert.deepEqual(mergeSections({ login: { a: 1 } }, { api: { b: 2 } }), { login: { a: 1 }, api: { b: 2 } })
})

test('only changed values are differences', () => {
  const after = mergeSections(defaults, { login: { lockout_threshold: 3 }, api: { requests_per_minute_per_key: 600 } })
  assert.deepEqual(sectionDifferences(defaults, after), { 'login.lockout_threshold': [10, 3] })
  assert.deepEqual(sectionDifferences(after, after), {})
})
