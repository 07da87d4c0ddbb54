import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeSeries, formatAxisTime, heatStep, niceScale, runsOf, timeLabels } from './axis.ts'

test('a scale ends at a round number above the highest value', () => {
  assert.deepEqual(niceScale(913), { max: 1000, ticks: [1000, 750, 500, 250, 0] })
  assert.deepEqual(niceScale(1000), { max: 1000, ticks: [1000, 750, 500, 250, 0] })
  assert.deepEqual(niceScale(41), { max: 60, ticks: [60, 40, 20, 0] })
  assert.deepEqual(niceScale(3), { max: 3, ticks: [3, 2, 1, 0] })
  assert.deepEqual(niceScale(1), { max: 1, ticks: [1, 0] })
  assert.deepEqual(niceScale(0.3), { max: 0.3, ticks: [0.3, 0.2, 0.1, 0] })
  assert.deepEqual(niceScale(0), { max: 1, ticks: [1, 0] })
  assert.deepEqual(niceScale(Number.NaN), { max: 1, ticks: [1, 0] })
  for (let highest = 1; highest < 20_000; highest = Math.ceil(highest * 1.13)) {
    const { max, ticks } = niceScale(highest)
    assert.ok(max >= highest && max <= highest * 2 && ticks.length <= 5, `${highest}: ${ticks}`)
    assert.ok(ticks.every(Number.isInteger), `${highest}: ${ticks}`)
  }
})

test('an axis shows hours for up to a day and a half, then days', () => {
  assert.equal(formatAxisTime('2026-11-27T14:05:00Z', 3_600_000, 'utc'), '14:05')
  assert.equal(formatAxisTime('2026-11-07T14:05:00Z', 7 * 86_400_000, 'utc'), '7 Nov')
  const hours = Array.from({ length: 25 }, (_, i) => new Date(Date.UTC(2026, 10, 26, 14 + i)).toISOString())
  assert.deepEqual(timeLabels(hours, 'utc'), ['14:00', '20:00', '02:00', '08:00', '14:00'])
  assert.deepEqual(timeLabels(hours.slice(0, 2), 'utc'), ['14:00', '15:00'])
  assert.deepEqual(timeLabels([], 'utc'), [])
})

test('a gap breaks a line in two', () => {
  assert.deepEqual(runsOf([1, 2, null, null, 3]), [
    { from: 0, values: [1, 2] },
    { from: 4, values: [3] },
  ])
  assert.deepEqual(runsOf([null, null]), [])
})

test('the description of a series names its highest, lowest and last value', () => {
  assert.equal(describeSeries('Sessions', [190, 913, 873], String), 'Sessions: highest 913, lowest 190, now 873')
  assert.equal(describeSeries('Sessions', [190, null], String), 'Sessions: highest 190, lowest 190, now unknown')
  assert.equal(describeSeries('Sessions', [null], String), 'Sessions: no values')
})

test('the lightest step of a heat strip is for 0 only', () => {
  assert.deepEqual(
    [0, 1, 25, 26, 99, 100].map((value) => heatStep(value, 100)),
    [0, 1, 1, 2, 4, 4],
  )
  assert.equal(heatStep(0, 0), 0)
})
