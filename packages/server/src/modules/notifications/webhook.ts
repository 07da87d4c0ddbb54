import { createHmac } from 'node:crypto'
import type { Outbound } from '../../outbound/outbound.ts'

const timeoutMs = 15_000
const maxAnswerBytes = 64 * 1024

/** Signs a webhook as Standard Webhooks, symmetric: `v1,` and base64(HMAC-SHA256(secret, `id.timestamp.body`)). */
function signWebhook(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

/**
 * Sends one message. `id` stays the same over retries, so that receivers can detect a repetition. Any 2xx is success, a
 * redirect is not. Throws OutboundError if there is no response.
 */
export async function sendNotificationWebhook(
  outbound: Pick<Outbound, 'request'>,
  to: { url: string; secret: string },
  { id, at, body }: { id: string; at: Date; body: string },
  signal: AbortSignal,
): Promise<{ ok: boolean; gone: boolean; error: string | null }> {
  const timestamp = Math.floor(at.getTime() / 1000)
  const { status } = await outbound.request(to.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'holdfast',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signWebhook(to.secret, id, timestamp, body),
    },
    body,
    timeoutMs,
    maxResponseBytes: maxAnswerBytes,
    whenTooLarge: 'cut',
    signal,
  })
  const ok = status >= 200 && status < 300
  return { ok, gone: status === 410, error: ok ? null : `The receiver answered ${status}.` }
}
