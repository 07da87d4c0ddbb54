import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewayStatusOf } from './status.ts'

const serving = { draining: false, drain_reason: null, public_key: 'a', proposed_key: null }
const at = Date.UTC(2030, 0, 1)

test('a gateway is never seen, healthy, degraded after 30 s of silence, and down after 60 s', () => {
  const seen = (secondsAgo: number) => gatewayStatusOf(serving, at - secondsAgo * 1000, at).status
  assert.equal(gatewayStatusOf(serving, null, at).status, 'never_seen')
  assert.deepEqual([0, 29.999, 30, 59.999, 60, 86_400].map(seen), [
    'healthy',
    'healthy',
    'degraded',
    'degraded',
    'down',
    'down',
  ])
})

test('a clock behind the report does not make a gateway silent', () => {
  assert.deepEqual(gatewayStatusOf(serving, at + 5000, at), {
    status: 'healthy',
    status_reason: 'Its last report was 0 seconds ago.',
  })
})

test('draining outranks silence, and names who drains, why and the last report', () => {
  const { status, status_reason } = gatewayStatusOf(
    { ...serving, draining: true, drain_reason: 'kernel update' },
    at - 90_000,
    at,
  )
  assert.equal(status, 'draining')
  assert.match(status_reason, /administrator is draining it: kernel update\. Its last report was 90 seconds ago\./)
})

test('a gateway is pending only while its first key waits for approval', () => {
  const status = (keys: object) => gatewayStatusOf({ ...serving, ...keys }, at, at).status
  assert.equal(status({ public_key: null, proposed_key: 'b' }), 'pending')
  assert.equal(status({ proposed_key: 'b' }), 'healthy')
  assert.equal(status({ public_key: null, proposed_key: 'b', draining: true }), 'draining')
})
