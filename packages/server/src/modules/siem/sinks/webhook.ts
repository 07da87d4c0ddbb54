import { createHmac } from 'node:crypto'
import { most, outcomeOf, tlsOf } from './answers.ts'
import type { Send } from './sink.ts'

/** Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes, which are the key. */
const secretText = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/
export const isWebhookSecret = (text: string): boolean => {
  const length = keyOf(text).length
  return secretText.test(text) && length >= 24 && length <= 64
}
const keyOf = (secret: string) => Buffer.from(secret.slice('whsec_'.length), 'base64')

/**
 * Standard Webhooks, symmetric: `v1,` and base64(HMAC-SHA256(key, `id.timestamp.body`)), with the new secret and, after
 * a recent change, the previous one. Several events are one message, in `data.events`. Events that are not JSON are
 * sent as strings.
 */
export const sendEventWebhook: Send = async ({ outbound, now }, target, batch, signal) => {
  const { destination, credential = '', previous } = target
  const at = now()
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const events = batch.events.map(({ text }) => text)
  const body = `{"type":"audit.events","timestamp":"${at.toISOString()}","data":{"events":[${events.join(',')}]}}`
  const signed = `${batch.id}.${timestamp}.${body}`
  const secrets = previous === undefined ? [credential] : [credential, previous]
  const signatures = secrets.map((s) => `v1,${createHmac('sha256', keyOf(s)).update(signed).digest('base64')}`)
  const answer = await outbound.request(destination.url ?? '', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'holdfast',
      'webhook-id': batch.id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    },
    body,
    tls: tlsOf(destination),
    signal,
    ...most,
  })
  return outcomeOf(answer)
}
