import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { CanaryHealth } from '../../../db/tables/policy.ts'
import { fisherExact } from './fisher.ts'
import { falseAlarms, judgeRollout, termsOf } from './verdict.ts'

const health = (
  canary: [devices: number, denials: number],
  stable: [devices: number, denials: number],
): CanaryHealth => ({
  canary: { devices: canary[0], denials: canary[1], failed_sessions: 0, posture_failures: 0 },
  stable: { devices: stable[0], denials: stable[1], failed_sessions: 0, posture_failures: 0 },
})
const share = fc.nat(300).chain((n) => fc.tuple(fc.constant(n), fc.nat(n)))
const look = fc.integer({ min: 1, max: 2000 })
const minutes = fc.integer({ min: 0, max: 3000 })
const terms = termsOf({})

/** Computes the same by enumeration: the share of all possible choices of `tried` with at least as many in trouble. */
function byCounting(n: number, troubled: number, tried: number, atLeast: number): number {
  let [all, hits] = [0, 0]
  for (let chosen = 0; chosen < 1 << n; chosen++) {
    const bits = [...chosen.toString(2).padStart(n, '0')].map(Number)
    if (bits.reduce((sum, bit) => sum + bit, 0) !== tried) continue
    all++
    if (bits.slice(0, troubled).reduce((sum, bit) => sum + bit, 0) >= atLeast) hits++
  }
  return hits / all
}

test("Fisher's exact test agrees with counting", () => {
  fc.assert(
    fc.property(fc.nat(3), fc.nat(3), fc.nat(3), fc.nat(3), (a, b, c, d) => {
      const [tried, baseline] = [
        { n: a + b, troubled: a },
        { n: c + d, troubled: c },
      ]
      const p = fisherExact(tried, baseline)
      assert.ok(Math.abs(p - byCounting(a + b + c + d, a + c, a + b, a)) < 1e-9, `${a} ${b} ${c} ${d}: ${p}`)
    }),
    {
      examples: [
        [0, 0, 0, 0],
        [3, 0, 0, 3],
      ],
    },
  )
  // Fisher's lady tasting tea: three of four cups.
  assert.ok(Math.abs(fisherExact({ n: 4, troubled: 3 }, { n: 4, troubled: 1 }) - 17 / 70) < 1e-12)
  const large = fisherExact({ n: 1000, troubled: 30 }, { n: 100_000, troubled: 900 })
  assert.ok(large > 1e-8 && large < 1e-6, String(large))
  assert.equal(fisherExact({ n: 1000, troubled: 0 }, { n: 100_000, troubled: 900 }), 1)
})

test('a canary that is no worse than stable never fails', () => {
  fc.assert(
    fc.property(share, share, look, minutes, (canary, stable, n, m) => {
      fc.pre(canary[1] * stable[0] <= stable[1] * canary[0])
      assert.notEqual(judgeRollout(terms, health(canary, stable), { look: n, minutes: m }).state, 'failed')
    }),
  )
})

test('a canary with too few devices on either channel is still watched', () => {
  fc.assert(
    fc.property(share, share, look, minutes, (canary, stable, n, m) => {
      fc.pre(canary[0] < terms.min_devices || stable[0] < terms.min_devices)
      assert.equal(judgeRollout(terms, health(canary, stable), { look: n, minutes: m }).state, 'watching')
    }),
  )
})

test('a failure remains with more affected devices, at an earlier look and at any time', () => {
  fc.assert(
    fc.property(share, share, look, minutes, (canary, stable, n, m) => {
      fc.pre(judgeRollout(terms, health(canary, stable), { look: n, minutes: m }).state === 'failed')
      const worse = health([canary[0], Math.min(canary[0], canary[1] + 1)], stable)
      assert.equal(judgeRollout(terms, worse, { look: Math.max(1, n - 1), minutes: 0 }).state, 'failed')
    }),
    { numRuns: 300 },
  )
})

test('a canary passes only after its time, and only if no share rose above the limit', () => {
  fc.assert(
    fc.property(share, share, look, minutes, (canary, stable, n, m) => {
      const { state } = judgeRollout(terms, health(canary, stable), { look: n, minutes: m })
      if (state !== 'passed') return
      assert.ok(m >= terms.observe_minutes)
      assert.ok(canary[1] / canary[0] - stable[1] / stable[0] < 0.0501)
    }),
  )
  assert.equal(judgeRollout(terms, health([100, 3], [900, 20]), { look: 9, minutes: 60 }).state, 'passed')
  assert.equal(judgeRollout(terms, health([100, 3], [900, 20]), { look: 9, minutes: 59.9 }).state, 'watching')
  assert.equal(judgeRollout(terms, health([20, 3], [900, 20]), { look: 9, minutes: 600 }).state, 'watching')
})

test('a canary that breaks everything fails at once; one that breaks half of a small group fails soon', () => {
  assert.deepEqual(judgeRollout(terms, health([10, 10], [10, 0]), { look: 1, minutes: 1 }), {
    state: 'failed',
    tested: true,
    reason: '10 of 10 devices on canary have packets denied, 0 of 10 on stable',
  })
  assert.equal(judgeRollout(terms, health([20, 10], [200, 4]), { look: 20, minutes: 30 }).state, 'failed')
})

test('a proven but small rise passes', () => {
  assert.equal(judgeRollout(terms, health([10_000, 400], [100_000, 1000]), { look: 1, minutes: 60 }).state, 'passed')
  const strict = termsOf({ max_rise_percent: { denials: 1 } })
  assert.equal(judgeRollout(strict, health([10_000, 400], [100_000, 1000]), { look: 1, minutes: 60 }).state, 'failed')
})

test('fewer canaries fail by chance than the limit, however often they are judged', () => {
  // A deterministic sequence (mulberry32): the test is the same every time.
  let seed = 1
  const random = () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const canaries = 400
  let failed = 0
  for (let i = 0; i < canaries; i++) {
    const found = { canary: { devices: 0, denials: 0 }, stable: { devices: 0, denials: 0 } }
    for (let n = 1; n <= 30; n++) {
      for (const channel of [found.canary, found.stable]) {
        channel.devices += 5
        for (let device = 0; device < 5; device++) if (random() < 0.3) channel.denials++
      }
      const { canary, stable } = found
      const seen = health([canary.devices, canary.denials], [stable.devices, stable.denials])
      if (judgeRollout(terms, seen, { look: n, minutes: n }).state !== 'failed') continue
      failed++
      break
    }
  }
  assert.ok(failed <= canaries * falseAlarms, `${failed} of ${canaries}`)
})
