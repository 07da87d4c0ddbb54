import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { degradedAfterMs, type GatewayStatus, gatewayStatusOf } from '../../reports/status.ts'
import { type Facts, type RecordedState, type Transition, transitionsOf } from './transitions.ts'

const created = 1_000_000_000
const steady = {
  draining: false,
  drain_reason: null,
  public_key: 'key',
  proposed_key: null,
  drainedAtMs: null,
  createdAtMs: created,
}

/** Returns the facts that the database has after these reports. */
function factsAt(reports: readonly number[], nowMs: number, listenedSinceMs = 0): Facts {
  const heard = reports.filter((at) => at <= nowMs)
  let silence: Facts['silence'] = null
  for (const [i, toMs] of heard.entries()) {
    const fromMs = heard[i - 1]
    if (fromMs !== undefined && toMs - fromMs >= degradedAfterMs) silence = { fromMs, toMs }
  }
  return { gateway: steady, lastSeenMs: heard.at(-1) ?? null, silence, listenedSinceMs }
}

test('the recorded history equals the status at every time, however often it is evaluated', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 3, max: 29 }),
      (gaps, every) => {
        const reports: number[] = []
        for (const gap of gaps) reports.push((reports.at(-1) ?? created + 120_000) + gap * 1000)
        const end = reports.at(-1)! + 100_000
        const written: Transition[] = []
        let recorded: RecordedState | undefined
        for (let now = created + 1000; now <= end; now += every * 1000) {
          for (const next of transitionsOf(recorded, factsAt(reports, now), now)) {
            assert.ok(next.atMs <= now && next.atMs > (written.at(-1)?.atMs ?? 0))
            assert.equal(next.before, recorded?.state ?? null)
            recorded = { state: next.state, sinceMs: next.atMs }
            written.push(next)
          }
          assert.deepEqual(transitionsOf(recorded, factsAt(reports, now), now), [], 'a second look writes nothing')
        }
        const shown = (at: number): GatewayStatus | undefined => written.findLast((c) => c.atMs <= at)?.state
        // Compares up to the last run. For a gateway that reported for the first time, the run after it knows only the
        // last report.
        const first = reports[0]!
        for (let at = created + 500; at <= end - every * 1000; at += 1000) {
          if (at >= first && at <= first + every * 1000) continue
          const lastSeen = reports.findLast((r) => r <= at) ?? null
          assert.equal(shown(at), gatewayStatusOf(steady, lastSeen, at).status, `at ${at - created}`)
        }
      },
    ),
    { numRuns: 100 },
  )
})

test('draining is recorded at its time, and silence only once the deployment has listened long enough', () => {
  const now = created + 3_600_000
  const facts = { ...factsAt([now - 5000], now), gateway: { ...steady, draining: true, drainedAtMs: now - 20_000 } }
  const healthy: RecordedState = { state: 'healthy', sinceMs: created }
  assert.deepEqual(transitionsOf(healthy, facts, now), [{ atMs: now - 20_000, before: 'healthy', state: 'draining' }])
  const drained: RecordedState = { state: 'draining', sinceMs: now - 60_000 }
  assert.deepEqual(transitionsOf(drained, factsAt([now - 5000], now), now), [
    { atMs: now - 5000, before: 'draining', state: 'healthy' },
  ])
  assert.deepEqual(transitionsOf(undefined, factsAt([now], now), now), [{ atMs: now, before: null, state: 'healthy' }])
  // The deployment has not listened for long enough. The recorded state stays until there is a report.
  assert.deepEqual(transitionsOf(healthy, factsAt([now - 3_000_000], now, now - 59_000), now), [])
  assert.deepEqual(transitionsOf({ state: 'down', sinceMs: created }, factsAt([created], now, now - 10_000), now), [])
  assert.deepEqual(transitionsOf(healthy, factsAt([now - 3_000_000], now, now - 70_000), now), [
    { atMs: now - 40_000, before: 'healthy', state: 'degraded' },
    { atMs: now - 10_000, before: 'degraded', state: 'down' },
  ])
})
