import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Explanation, titleOf, traceOf, valueText } from './words.ts'

const answer = (more: Partial<Explanation>) => ({ rule_id: null, rules: [], would_allow: [], ...more }) as Explanation
const condition = (property: string, passed: boolean) => ({ property, expected: 'a', actual: 'b', passed })

test('the trace shows the deciding rule, or the nearest one with what it lacks', () => {
  const rules = [{ rule_id: 'git', action: 'allow' as const, matched: true, conditions: [condition('from', true)] }]
  assert.deepEqual(traceOf(answer({ rule_id: 'git', rules })), {
    ...{ ruleId: 'git', action: 'allow', conditions: [condition('from', true)] },
  })
  const lacks = [{ property: 'posture.disk', expected: 'passed', actual: 'no_report' }]
  assert.deepEqual(traceOf(answer({ rules, would_allow: [{ rule_id: 'git', sentence: '', lacks }] })), {
    ...{ ruleId: 'git', action: 'allow' },
    conditions: [condition('from', true), { ...lacks[0], passed: false }],
  })
  assert.equal(traceOf(answer({})), undefined)
})

test('values and titles are words', () => {
  assert.equal(valueText({ groups: ['sre', 'on-call'], users: [] }), 'groups sre or on-call')
  assert.equal(valueText(null), '–')
  assert.equal(valueText(28_800), '28800')
  const [yes, no] = [{ decision: 'allow' as const }, { decision: 'deny' as const }]
  assert.equal(titleOf(yes, 'Delivered now'), 'Allowed now')
  assert.equal(titleOf(no, 'Canary v2', yes, 'Stable v1'), 'Denied under canary v2, allowed under stable v1')
  assert.equal(titleOf(no, 'Canary v2', no, 'Delivered now'), 'Denied under canary v2, and now')
})
