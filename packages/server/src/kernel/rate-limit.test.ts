import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createRateLimiter } from './rate-limit.ts'

const perMinute = fc.integer({ min: 1, max: 10_000 })
const pauses = fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 300 })
const burstOf = (n: number) => Math.max(10, n / 10)

test('no interval admits more than the burst and the rate; a caller that waits as told is admitted', () => {
  fc.assert(
    fc.property(perMinute, pauses, (rate, steps) => {
      const { take } = createRateLimiter()
      const passed: number[] = []
      let now = 1_000
      for (const step of steps) {
        now += step
        const wait = take('a', rate, now)
        if (wait === 0) passed.push(now)
        else if (step % 2) {
          now += wait * 1000
          assert.equal(take('a', rate, now), 0)
          passed.push(now)
        }
      }
      for (const [i, from] of passed.entries())
        for (const [n, to] of passed.slice(i).entries())
          assert.ok(n + 1 <= burstOf(rate) + ((to - from) * rate) / 60_000 + 1e-6, `${n + 1} within ${to - from} ms`)
    }),
  )
})

test('the burst is a tenth of a minute and at least ten; the next call is told its wait', () => {
  for (const rate of [1, 60, 100, 1000, 6000]) {
    const { take } = createRateLimiter()
    const burst = Math.floor(burstOf(rate))
    assert.deepEqual(new Set(Array.from({ length: burst }, () => take('a', rate, 5))), new Set([0]))
    assert.equal(take('a', rate, 5), Math.ceil(60 / rate))
    assert.equal(take('b', rate, 5), 0, 'another has its own')
  }
})

test('the remaining quota of an answer is admitted at once, within rounding', () => {
  fc.assert(
    fc.property(perMinute, pauses, (rate, steps) => {
      const { take, limitOf } = createRateLimiter()
      let now = 1_000
      for (const step of steps.slice(0, 20)) {
        now += step
        const { policy, state } = limitOf('key', 'a', rate, now)
        const [, q = 0, w = 0] = (/^"key";q=(\d+);w=(\d+)$/.exec(policy) ?? []).map(Number)
        const [, r = -1, t = -1] = (/^"key";r=(\d+);t=(\d+)$/.exec(state) ?? []).map(Number)
        assert.ok(r >= 0 && r <= q && t >= 0 && t <= w, `${policy} ${state}`)
        const passed = Array.from({ length: q + 3 }, () => take('a', rate, now)).filter((wait) => wait === 0).length
        assert.ok(Math.abs(passed - r) <= 1, `${passed} passed, ${state} was said`)
      }
    }),
  )
})
