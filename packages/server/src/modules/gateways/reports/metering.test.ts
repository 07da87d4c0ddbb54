import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import { readSamples } from './metering.ts'

const at = new Date(Date.UTC(2030, 0, 1))
const key = {
  gatewayId: newUuid(),
  bootId: 'b',
  sequence: 1,
  intervalStart: new Date(at.getTime() - 60_000),
  intervalEnd: at,
}
const sessions = Array.from({ length: 4 }, () => encodeId('vpn_session', newUuid()))
const devices = Array.from({ length: 2 }, () => encodeId('device', newUuid()))

const sample = fc.record({
  session_id: fc.constantFrom(...sessions, 'vse_nonsense'),
  device_id: fc.constantFrom(...devices, 'dev_nonsense'),
  state: fc.constantFrom('active' as const, 'ended' as const),
  rx_bytes: fc.nat(1_000_000),
  tx_bytes: fc.nat(1_000_000),
})

test('every sample is counted or rejected once, and no byte is lost or added', () => {
  fc.assert(
    fc.property(fc.array(sample, { maxLength: 30 }), (given) => {
      const read = readSamples(given, key, { at, aheadMs: 0 })
      const counted = [...read.indexesOf.values()].flat()
      const all = [...counted, ...read.rejected.map((r) => r.index)].sort((a, b) => a - b)
      assert.deepEqual(all, [...given.keys()])
      const total = (of: 'rx_bytes' | 'tx_bytes') => counted.reduce((n, i) => n + given[i]![of], 0)
      assert.equal(
        read.samples.reduce((n, s) => n + s.rxBytes, 0),
        total('rx_bytes'),
      )
      assert.equal(
        read.samples.reduce((n, s) => n + s.txBytes, 0),
        total('tx_bytes'),
      )
      assert.equal(new Set(read.samples.map((s) => s.sessionId)).size, read.samples.length)
    }),
  )
})

test('one ended sample ends the session, in any order', () => {
  const one = (state: 'active' | 'ended', end_reason?: string) => ({
    session_id: sessions[0]!,
    device_id: devices[0]!,
    state,
    rx_bytes: 1,
    tx_bytes: 1,
    ...(end_reason && { end_reason }),
  })
  for (const given of [
    [one('ended', 'user'), one('active')],
    [one('active'), one('ended', 'user')],
  ]) {
    const [merged] = readSamples(given, key, { at, aheadMs: 0 }).samples
    assert.deepEqual([merged?.ended, merged?.endReason, merged?.rxBytes], [true, 'user', 2])
  }
})

test('a start after the interval is set to its end; an impossible date is rejected', () => {
  const starting = (started_at: string) =>
    readSamples(
      [{ session_id: sessions[0]!, device_id: devices[0]!, state: 'active', rx_bytes: 0, tx_bytes: 0, started_at }],
      key,
      { at, aheadMs: 0 },
    )
  assert.deepEqual(starting(new Date(at.getTime() + 60_000).toISOString()).samples[0]?.startedAt, at)
  assert.equal(starting('2016-12-31T23:59:60Z').rejected.length, 1)
  assert.equal(starting('1970-01-01T00:00:00Z').rejected.length, 1)
  assert.equal(starting(new Date(at.getTime() + 3600_000).toISOString()).rejected.length, 1)
})
