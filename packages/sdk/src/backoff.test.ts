import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { backoffSeconds, jitter, sleep } from './backoff.ts'
import { ApiError, ConnectionError } from './errors.ts'

const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test('jitter is at most a fifth', () => {
  fc.assert(
    fc.property(chance, (r) => {
      const seconds = jitter(25, () => r)
      assert.ok(seconds >= 20 && seconds <= 30)
    }),
  )
})

test('the backoff grows to five minutes, and is at least half of its step', () => {
  const error = new ConnectionError('gone')
  fc.assert(
    fc.property(chance, fc.integer({ min: 1, max: 10_000 }), (r, failures) => {
      const step = Math.min(300, 2 ** failures)
      const seconds = backoffSeconds(failures, error, () => r)
      assert.ok(seconds >= step / 2 && seconds <= step)
    }),
  )
})

test('the backoff is at least the Retry-After of the server', () => {
  fc.assert(
    fc.property(chance, fc.integer({ min: 1, max: 20 }), fc.nat(900), (r, failures, retryAfterSeconds) => {
      const error = new ApiError(429, { code: 'rate_limited', detail: '', retryAfterSeconds })
      assert.ok(backoffSeconds(failures, error, () => r) >= Math.min(retryAfterSeconds, 1e9))
    }),
  )
})

test('sleep ends when aborted', async () => {
  const abort = new AbortController()
  const sleeping = sleep(600, abort.signal)
  abort.abort()
  await assert.rejects(sleeping, { name: 'AbortError' })
  await assert.rejects(sleep(0, abort.signal), { name: 'AbortError' })
})
