import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expiryStatuses } from '@holdfast/contract/vocabulary'
import fc from 'fast-check'
import type { Expiry } from '../../kernel/expiry.ts'
import { day, minute } from '../../kernel/time.ts'
import { endsWhile, expiryStatusOf, renewsItself, thresholdOf } from './standing.ts'

const at = new Date('2026-11-23T12:00:00Z')
const inDays = (days: number) => new Date(at.getTime() + days * day)
const ending = (days: number, more: Partial<Expiry> = {}): Expiry => ({
  type: 'api_key',
  id: 'key_1',
  name: 'ci',
  since: inDays(-400),
  expiresAt: inDays(days),
  renewal: 'by_hand',
  ...more,
})

test('an expiry passes its thresholds one after the other, to the millisecond', () => {
  const passed = (days: number, more?: Partial<Expiry>) => thresholdOf(ending(days, more), at)
  const ms = 1 / day
  assert.deepEqual(
    [30 + ms, 30, 14 + ms, 14, 7 + ms, 7, 1 + ms, 1, 0, -5].map((d) => passed(d)),
    [undefined, 30, 30, 14, 14, 7, 7, 1, 1, 1],
  )
  // Threshold of an item one day after it was made, for each lifetime in days.
  const living = (days: number) => passed(days - 1, { since: inDays(-1) })
  assert.deepEqual([32, 31, 30, 15, 14, 8, 7, 2, 1].map(living), [
    ...[undefined, 30, undefined],
    ...[14, undefined, 7, undefined, 1, undefined],
  ])
})

test('a self-renewing thing warns only once its renewal is overdue', () => {
  const renewed = (renewal: Expiry['renewal'], days: number) => {
    const e = ending(days, { renewal, since: inDays(days - 1) })
    return [renewsItself(e, at), expiryStatusOf(e, at), thresholdOf(e, at)]
  }
  const [before, after] = [new Date(at.getTime() - minute), new Date(at.getTime() + minute)]
  assert.deepEqual(renewed(after, 0.5), [true, 'ok', undefined])
  assert.deepEqual(renewed(before, 0.5), [false, 'critical', 1])
  assert.deepEqual(renewed('not_needed', 0.5), [true, 'ok', undefined])
  assert.deepEqual(renewed('by_hand', 0.5), [false, 'critical', undefined])
})

test('the status of an expiry matches its time range', () => {
  fc.assert(
    fc.property(fc.integer({ min: -40 * 24, max: 40 * 24 }), (hours) => {
      const e = ending(hours / 24)
      const fitting = expiryStatuses.filter((status) => {
        const { after, until } = endsWhile(status, at)
        return e.expiresAt > after && (!until || e.expiresAt <= until)
      })
      assert.deepEqual(fitting, [expiryStatusOf(e, at)])
    }),
  )
})
