import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { daysUntilLimit, slopeOf } from './forecast.ts'

const line = (slope: number, start: number, days: number) =>
  Array.from({ length: days }, (_, at) => ({ at, value: start + slope * at }))

test('the slope of points on a line is the slope of the line', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1000, max: 1000 }), fc.nat(100_000), fc.integer({ min: 2, max: 60 }), (s, b, n) => {
      assert.ok(Math.abs((slopeOf(line(s, b, n)) ?? Number.NaN) - s) < 1e-6)
    }),
  )
})

test('a single time has no slope', () => {
  assert.equal(slopeOf([]), undefined)
  assert.equal(slopeOf([{ at: 1, value: 5 }]), undefined)
  assert.equal(
    slopeOf([
      { at: 1, value: 5 },
      { at: 1, value: 9 },
    ]),
    undefined,
  )
})

test('the days until a limit follow from growth; without growth the limit is never reached', () => {
  assert.equal(daysUntilLimit(10, 20, 2), 5)
  assert.equal(daysUntilLimit(20, 20, -1), 0)
  assert.equal(daysUntilLimit(25, 20, 0), 0)
  assert.equal(daysUntilLimit(10, 20, 0), undefined)
  assert.equal(daysUntilLimit(10, 20, -3), undefined)
  assert.equal(daysUntilLimit(0, 1000, 1), undefined)
})
