import type { Outbound } from '../../outbound/outbound.ts'
import { signedWebhook } from '../../outbound/standard-webhook.ts'

const timeoutMs = 15_000
const maxAnswerBytes = 64 * 1024

/**
 * Sends one message. `id` stays the same over retries, so that receivers can detect a repetition. Any 2xx is success, a
 * redirect is not. Throws OutboundError if there is no response.
 */
export async function sendNotificationWebhook(
  outbound: Pick<Outbound, 'request'>,
  to: { url: string; secret: string },
  message: { id: string; at: Date; body: string },
  signal: AbortSignal,
): Promise<{ ok: boolean; gone: boolean; error: string | null }> {
  const { status } = await outbound.request(to.url, {
    ...signedWebhook([to.secret], message),
    timeoutMs,
    maxResponseBytes: maxAnswerBytes,
    whenTooLarge: 'cut',
    signal,
  })
  const ok = status >= 200 && status < 300
  return { ok, gone: status === 410, error: ok ? null : `The receiver answered ${status}.` }
}
