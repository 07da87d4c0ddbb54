import { createHmac, randomBytes } from 'node:crypto'

/** Length of the HMAC key in bytes: the limits of Standard Webhooks. */
const keyBytes = { min: 24, max: 64 }
const prefix = 'whsec_'
const secretText = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/
const keyOf = (secret: string) => Buffer.from(secret.slice(prefix.length), 'base64')

/** Makes a signing secret of 32 random bytes in the format of Standard Webhooks. */
export const mintWebhookSecret = (): string => `${prefix}${randomBytes(32).toString('base64')}`

/** Format of a secret, as errors name it. */
export const webhookSecretFormat = `${prefix} followed by the base64 of ${keyBytes.min} to ${keyBytes.max} bytes`

/** True if a text is a signing secret of Standard Webhooks. */
export const isWebhookSecret = (text: string): boolean => {
  const { length } = keyOf(text)
  return secretText.test(text) && length >= keyBytes.min && length <= keyBytes.max
}

/**
 * Makes the signed POST of a message (Standard Webhooks, symmetric): one signature for each secret, `v1,` and
 * base64(HMAC-SHA256(key, `id.timestamp.body`)).
 *
 * @param id stays the same over retries, so that receivers detect a repetition
 */
export function signedWebhook(secrets: readonly string[], { id, at, body }: { id: string; at: Date; body: string }) {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signed = `${id}.${timestamp}.${body}`
  const signatures = secrets.map((s) => `v1,${createHmac('sha256', keyOf(s)).update(signed).digest('base64')}`)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'holdfast',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
  return { method: 'POST' as const, headers, body }
}
