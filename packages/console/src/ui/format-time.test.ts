import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatClock, formatDuration, formatExact, formatRelative } from './format-time.ts'

test('a duration has at most two units', () => {
  const cases: [seconds: number, text: string][] = [
    [0, '0 s'],
    [0.0421, '42 ms'],
    [2.1, '2.1 s'],
    [40, '40 s'],
    [60, '1 min'],
    [100, '1 min 40 s'],
    [3600, '1 h'],
    [5400, '1 h 30 min'],
    [3659, '1 h'],
    [9 * 86_400, '9 d'],
    [86_400 + 7200, '1 d 2 h'],
    [-3, '0 s'],
  ]
  for (const [seconds, text] of cases) assert.equal(formatDuration(seconds), text)
})

test('a time is shown relative to now', () => {
  const now = Date.parse('2026-11-27T14:02:00Z')
  const cases: [at: string, text: string][] = [
    ['2026-11-27T14:01:55Z', 'now'],
    ['2026-11-27T14:02:08Z', 'now'],
    ['2026-11-27T14:01:20Z', '40 s ago'],
    ['2026-11-27T13:46:00Z', '16 min ago'],
    ['2026-11-26T20:02:00Z', '18 h ago'],
    ['2026-11-21T14:02:00Z', '6 d ago'],
    ['2026-10-13T14:02:00Z', '45 d ago'],
    ['2026-08-27T14:02:00Z', '3 mo ago'],
    ['2024-11-20T14:02:00Z', '2 y ago'],
    ['2026-11-27T14:07:00Z', 'in 5 min'],
    ['tomorrow', 'tomorrow'],
  ]
  for (const [at, text] of cases) assert.equal(formatRelative(at, now), text)
})

test('the exact time shows its zone', () => {
  assert.equal(formatExact('2026-11-27T14:01:00.123Z', 'utc'), '2026-11-27 14:01:00 UTC')
  assert.equal(formatClock('2026-11-27T14:01:48Z', 'utc'), '14:01:48')
  assert.equal(formatExact('2026-11-27T15:01:00+01:00', 'utc'), '2026-11-27 14:01:00 UTC')
  assert.match(formatExact('2026-11-27T14:01:00Z', 'local'), /^2026-11-2[678] \d\d:\d1:00 UTC[+-]\d\d:\d\d$/)
  assert.equal(formatExact('never', 'utc'), 'never')
})
