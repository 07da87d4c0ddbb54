import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { isWebhookSecret, mintWebhookSecret, signedWebhook } from './standard-webhook.ts'

test('the library of Standard Webhooks verifies a message by each of its secrets, and by no other', () => {
  const [current, previous, other] = [mintWebhookSecret(), mintWebhookSecret(), mintWebhookSecret()]
  const { body, headers } = signedWebhook([current, previous], { id: 'msg_1', at: new Date(), body: '{"a":"ä"}' })
  for (const secret of [current, previous]) assert.deepEqual(new Webhook(secret).verify(body, headers), { a: 'ä' })
  assert.throws(() => new Webhook(other).verify(body, headers), /No matching signature/)
  assert.throws(() => new Webhook(current).verify(`${body} `, headers), /No matching signature/)
  assert.throws(() => new Webhook(current).verify(body, { ...headers, 'webhook-id': 'msg_2' }), /No matching/)
})

test('the bytes of a message are those of the published example', () => {
  // https://github.com/standard-webhooks/standard-webhooks, the vector of its libraries.
  const at = new Date(1614265330_000)
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at, body: '{"test": 2432232314}' }
  assert.deepEqual(signedWebhook(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], message), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'holdfast',
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
  })
})

test('a secret has 24 to 64 bytes in base64', () => {
  const ofBytes = (length: number) => `whsec_${Buffer.alloc(length, 7).toString('base64')}`
  for (const secret of [mintWebhookSecret(), ofBytes(24), ofBytes(64)]) assert.ok(isWebhookSecret(secret), secret)
  for (const text of [ofBytes(23), ofBytes(65), ofBytes(32).slice(6), `${ofBytes(32)} `, 'whsec_', 'whsec_ä'])
    assert.ok(!isWebhookSecret(text), text)
})
