import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyTimeWindow } from '@holdfast/contract/policy-document'
import { compileWindow, isOpen, isZone, nextChange } from './time-window.ts'

const names = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
const minute = 60_000

/** Reference implementation of a window: it reads the local time from the text that the runtime prints. */
function createWallClock({ days = [...names], from, to, zone }: PolicyTimeWindow): (at: number) => boolean {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' })
  return (at) => {
    const [date = '', clock = ''] = format.format(at).split(', ')
    const [day, month, year] = date.split('/').map(Number)
    const isStart = (back: number): boolean => {
      const weekday = new Date(Date.UTC(year ?? 0, (month ?? 1) - 1, (day ?? 1) - back)).getUTCDay()
      return [...days].some((name) => names.indexOf(name) === (weekday + 6) % 7)
    }
    if (from < to) return isStart(0) && from <= clock && clock < to
    return (isStart(0) && from <= clock) || (isStart(1) && clock < to)
  }
}

const cases: [string, string, number, Partial<PolicyTimeWindow>[]][] = [
  [
    'Europe/Berlin',
    '2027-03-26T00:00:00Z',
    4,
    [
      { from: '02:15', to: '02:45' },
      { from: '22:00', to: '06:00', days: ['sat'] },
    ],
  ],
  [
    'Europe/Berlin',
    '2027-10-29T00:00:00Z',
    4,
    [
      { from: '02:15', to: '02:45' },
      { from: '01:00', to: '03:00', days: ['sun'] },
    ],
  ],
  [
    'America/New_York',
    '2027-03-12T00:00:00Z',
    4,
    [
      { from: '00:00', to: '24:00', days: ['sun'] },
      { from: '02:30', to: '01:30' },
    ],
  ],
  [
    'America/New_York',
    '2027-11-05T00:00:00Z',
    4,
    [
      { from: '01:10', to: '01:50' },
      { from: '23:30', to: '00:30', days: ['fri', 'sun'] },
    ],
  ],
  [
    'Asia/Kathmandu',
    '2027-05-07T00:00:00Z',
    4,
    [
      { from: '09:00', to: '17:00', days: ['mon', 'fri'] },
      { from: '18:15', to: '00:00' },
    ],
  ],
  [
    'Pacific/Apia',
    '2011-12-28T00:00:00Z',
    5,
    [
      { from: '08:00', to: '12:00', days: ['fri', 'sat'] },
      { from: '22:00', to: '06:00', days: ['thu', 'fri'] },
    ],
  ],
  [
    'Australia/Lord_Howe',
    '2027-04-02T00:00:00Z',
    4,
    [
      { from: '01:35', to: '02:05' },
      { from: '01:00', to: '02:00', days: ['sun'] },
    ],
  ],
]

for (const [zone, start, days, windows] of cases) {
  for (const partial of windows) {
    const window: PolicyTimeWindow = { from: '00:00', to: '24:00', ...partial, zone }
    test(`${zone} from ${start}: ${window.days?.join() ?? 'daily'} ${window.from}-${window.to}, minute by minute`, () => {
      const isOpenByClock = createWallClock(window)
      const compiled = [compileWindow(window)]
      const first = Date.parse(start)
      const last = first + days * 1_440 * minute
      let change = nextChange(compiled, first)
      for (let at = first; at < last; at += minute) {
        assert.equal(isOpen(compiled, at), isOpenByClock(at), new Date(at).toISOString())
        if (at < change)
          assert.equal(
            isOpenByClock(at),
            isOpenByClock(change - minute),
            `changes before ${new Date(change).toISOString()}`,
          )
        if (at !== change) continue
        assert.notEqual(
          isOpenByClock(at),
          isOpenByClock(at - minute),
          `does not change at ${new Date(at).toISOString()}`,
        )
        change = nextChange(compiled, at)
      }
    })
  }
}

test('adjacent windows change only at the edges of their union', () => {
  const zone = 'UTC'
  const windows = [
    { from: '08:00', to: '12:00', zone },
    { from: '12:00', to: '17:00', zone },
  ].map((window) => compileWindow(window))
  assert.equal(nextChange(windows, Date.parse('2027-01-04T09:30:00.500Z')), Date.parse('2027-01-04T17:00:00Z'))
  assert.equal(nextChange(windows, Date.parse('2027-01-04T18:00:00Z')), Date.parse('2027-01-05T08:00:00Z'))
})

test('windows that are always open are checked again after eight days', () => {
  const at = Date.parse('2027-01-04T09:30:00Z')
  const next = nextChange([compileWindow({ from: '00:00', to: '24:00', zone: 'Asia/Kathmandu' })], at)
  assert.ok(next >= at + 8 * 86_400_000 && next <= at + 9 * 86_400_000)
})

test('time zones are those of the runtime', () => {
  assert.ok(isZone('Europe/Berlin') && isZone('UTC') && isZone('Asia/Kathmandu'))
  assert.ok(!isZone('Mars/Olympus') && !isZone(''))
})
