import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CheckResult, PostureResult } from '@holdfast/policy'
import fc from 'fast-check'
import { attestationStateOf, shutOut } from './status.ts'

const now = Date.parse('2027-01-04T12:00:00Z')
const hour = 3_600_000
const check = (more: Partial<CheckResult>): CheckResult => ({
  id: 'c',
  outcome: 'passed',
  passed: more.outcome === undefined || more.outcome === 'passed',
  reason_code: 'passed',
  actual: {},
  expected: '',
  severity: 'medium',
  enforcement: 'enforce',
  remediation: '',
  applies: true,
  platforms: null,
  freshness_seconds: 3600,
  valid_until: null,
  ...more,
})
const result = (...checks: Partial<CheckResult>[]): PostureResult => ({
  checks: checks.map(check),
  verdict: 'unknown',
  valid_until: null,
})
const aged = (ms: number) => ({ facts: {}, reported_at: now - ms })

const anyCheck = fc.record({
  outcome: fc.constantFrom('passed' as const, 'failed' as const, 'unknown' as const),
  enforcement: fc.constantFrom('audit' as const, 'warn' as const, 'enforce' as const),
  applies: fc.boolean(),
  valid_until: fc.option(fc.integer({ min: now - hour, max: now + hour })),
})
const anyAge = fc.option(fc.integer({ min: 0, max: 3 * hour }))

test('a status is affirming if the report is less than an hour old and all enforced checks, at least one, pass', () =>
  fc.assert(
    fc.property(fc.array(anyCheck, { maxLength: 5 }), anyAge, (checks, age) => {
      const { status, reasons, until } = attestationStateOf(age === null ? null : aged(age), result(...checks), now)
      const heard = checks.filter((c) => c.applies && c.enforcement !== 'audit')
      const isGood = age !== null && age < hour && heard.length > 0 && heard.every((c) => c.outcome === 'passed')
      assert.equal(status === 'affirming', isGood)
      assert.equal(reasons.length === 0, isGood, 'anything else says why')
      if (heard.some((c) => c.outcome === 'failed' && c.enforcement === 'enforce'))
        assert.equal(status, 'contraindicated')
      else assert.notEqual(status, 'contraindicated')
      assert.ok(until > now)
      if (isGood) assert.ok(until <= now - age + hour, 'nothing is affirmed past the hour of the report')
    }),
    { numRuns: 1000 },
  ))

test('audit-only checks and checks for other platforms do not count', () => {
  const audited = { id: 'a', outcome: 'failed', enforcement: 'audit' } as const
  const others = { id: 'b', outcome: 'passed', applies: false } as const
  assert.equal(attestationStateOf(aged(0), result({ id: 'c' }, audited, others), now).status, 'affirming')
  const { status, reasons } = attestationStateOf(aged(0), result(audited, others), now)
  assert.deepEqual([status, reasons], ['none', [{ code: 'nothing_checked', check_id: null }]])
})

test('a device that is not active, or whose user is not, is shut out with all reasons', () => {
  const device = { device_id: 'd', user_id: 'u', name: '', jkt: null, platform: 'linux', facts: null }
  const of = (status: 'pending' | 'active' | 'suspended' | 'revoked', user_suspended: boolean) =>
    shutOut({ ...device, facts_digest: null, reported_at: null, status, user_suspended })
  assert.equal(of('active', false), undefined)
  assert.deepEqual(of('revoked', true), {
    status: 'contraindicated',
    reasons: [
      { code: 'device_revoked', check_id: null },
      { code: 'user_suspended', check_id: null },
    ],
    until: Number.POSITIVE_INFINITY,
  })
})
