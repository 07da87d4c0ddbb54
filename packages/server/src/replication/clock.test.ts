import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClock } from './clock.ts'

test('database time follows from the local clock, within half of the round trip', () => {
  let local = 100
  const clock = createClock(() => local)
  assert.throws(() => clock.now(), /not known yet/)
  clock.measured(1_000_000, 90, 100)
  assert.equal(clock.now().getTime(), 1_000_005)
  local = 2100
  assert.equal(clock.now().getTime(), 1_002_005)
})

test('a slow measurement replaces an exact one only when that is old', () => {
  let local = 0
  const clock = createClock(() => local)
  clock.measured(1_000_000, 0, 0)
  clock.measured(1_000_400, 0, 1000)
  assert.equal(clock.now().getTime(), 1_000_000)
  local = 20_000
  clock.measured(1_019_600, 19_000, 20_000)
  assert.equal(clock.now().getTime(), 1_020_100)
})

test('a small step back is waited out; a large one, and any step ahead, is applied', () => {
  let local = 0
  const clock = createClock(() => local)
  clock.measured(1_000_000, 0, 0)
  assert.equal(clock.now().getTime(), 1_000_000)
  local = 1000
  clock.measured(999_000, 1000, 1000)
  assert.equal(clock.now().getTime(), 1_000_000, 'not earlier than what was said')
  local = 3500
  assert.equal(clock.now().getTime(), 1_001_500)
  clock.measured(400_000, 3500, 3500)
  assert.equal(clock.now().getTime(), 400_000)
  clock.measured(5_000_000, 3500, 3500)
  assert.equal(clock.now().getTime(), 5_000_000)
})
