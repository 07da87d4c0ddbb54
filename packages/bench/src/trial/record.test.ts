import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, ConnectionError } from '@holdfast/sdk'
import { type Outcome, outcomeOf, statesAfter } from './record.ts'

test('an acknowledged move sets the state, a refused one changes nothing, an unknown one leaves both possible', () => {
  const moves = (...list: [string, Outcome][]) => list.map(([want, outcome]) => ({ want, outcome, changed: true }))
  const after = (...list: [string, Outcome][]) => [...statesAfter('active', moves(...list))].sort()
  assert.deepEqual(after(), ['active'])
  assert.deepEqual(after(['suspended', 'acknowledged']), ['suspended'])
  assert.deepEqual(after(['suspended', 'refused']), ['active'])
  assert.deepEqual(after(['suspended', 'unknown']), ['active', 'suspended'])
  assert.deepEqual(after(['suspended', 'unknown'], ['active', 'acknowledged']), ['active'])
})

test('only a refusal means that nothing was changed', () => {
  const answered = (status: number) => outcomeOf(new ApiError(status, { code: 'x', detail: 'x' } as never))
  assert.equal(answered(404), 'refused')
  assert.equal(answered(429), 'refused')
  const detail = 'Idempotency-Key: the first request with this key is still running: try again shortly'
  assert.equal(outcomeOf(new ApiError(422, { code: 'validation_error', detail } as never)), 'unknown')
  assert.equal(answered(500), 'unknown')
  assert.equal(answered(503), 'unknown')
  assert.equal(outcomeOf(new ConnectionError('gone')), 'unknown')
  assert.throws(() => outcomeOf(new TypeError('ours')), TypeError)
})
