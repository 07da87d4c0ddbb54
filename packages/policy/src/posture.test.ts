import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile, device, NOW } from '../test/support/policies.ts'
import { evaluateChecks } from './posture.ts'

const compiled = compile({
  posture_checks: {
    disk: { expression: 'disk.encrypted', remediation: 'Encrypt the disk.', freshness_seconds: 600 },
    os: { expression: 'os.version >= "14.2"', platforms: ['macos'] },
    screen: { expression: 'screen_lock.enabled', enforcement: 'warn', severity: 'low' },
  },
  rules: [],
})
const reported = (facts: Record<string, unknown>, ago = 0) => ({ facts, reported_at: NOW - ago })
const evaluate = (posture: ReturnType<typeof reported> | null, platform = 'macos') =>
  evaluateChecks(compiled, device({ posture, platform }), NOW)
const reasons = (result: ReturnType<typeof evaluate>) =>
  result.checks.map(({ id, reason_code }) => `${id} ${reason_code}`)

test('a device that meets the enforced checks is compliant', () => {
  const result = evaluate(reported({ 'disk.encrypted': true, 'os.version': '14.2' }, 60_000))
  assert.equal(result.verdict, 'compliant')
  assert.deepEqual(reasons(result), ['disk passed', 'os passed', 'screen fact_missing'])
  assert.equal(result.valid_until, NOW + 540_000)
})

test('a check tells what it found and what it asked for', () => {
  const [disk] = evaluate(reported({ 'disk.encrypted': false })).checks
  assert.deepEqual(disk, {
    id: 'disk',
    outcome: 'failed',
    passed: false,
    reason_code: 'failed',
    actual: { 'disk.encrypted': false },
    expected: 'disk.encrypted',
    severity: 'medium',
    enforcement: 'enforce',
    remediation: 'Encrypt the disk.',
    applies: true,
    platforms: null,
    freshness_seconds: 600,
    valid_until: NOW + 600_000,
  })
})

test('one failed check outweighs an unknown one; unknown is not compliant', () => {
  assert.equal(evaluate(reported({ 'disk.encrypted': false })).verdict, 'non_compliant')
  assert.equal(evaluate(reported({ 'disk.encrypted': true })).verdict, 'unknown')
  assert.equal(evaluate(null).verdict, 'unknown')
})

test('a check for other platforms does not apply, and passes', () => {
  const result = evaluate(reported({ 'disk.encrypted': true }), 'linux')
  const os = result.checks.find(({ id }) => id === 'os')
  assert.deepEqual([os?.passed, os?.applies, result.verdict], [true, false, 'compliant'])
})

test('a report grows stale at its age, to the millisecond', () => {
  const facts = { 'disk.encrypted': true, 'os.version': '15' }
  assert.equal(evaluate(reported(facts, 599_999)).verdict, 'compliant')
  const stale = evaluate(reported(facts, 600_000))
  assert.equal(stale.verdict, 'unknown')
  assert.equal(reasons(stale)[0], 'disk stale_report')
})

test('without a report nobody is compliant, even where nothing is asked', () => {
  assert.equal(evaluateChecks(compile({ rules: [] }), device(), NOW).verdict, 'unknown')
})

test('where no check speaks of a device, or all are only audited, nothing is known of it', () => {
  const rules: never[] = []
  const audited = { disk: { expression: 'disk.encrypted', enforcement: 'audit' } } as const
  const elsewhere = { disk: { expression: 'disk.encrypted', platforms: ['ios'] } } as const
  for (const posture_checks of [undefined, audited, elsewhere])
    assert.equal(
      evaluateChecks(
        compile({ rules, ...(posture_checks && { posture_checks }) } as never),
        { ...device(), posture: reported({ 'disk.encrypted': true }) },
        NOW,
      ).verdict,
      'unknown',
    )
  const warned = { disk: { expression: 'disk.encrypted', enforcement: 'warn' } } as const
  const passed = evaluateChecks(
    compile({ rules, posture_checks: warned } as never),
    { ...device(), posture: reported({ 'disk.encrypted': true }) },
    NOW,
  )
  assert.equal(passed.verdict, 'compliant')
})
