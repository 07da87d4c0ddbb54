import { signedWebhook } from '../../../outbound/standard-webhook.ts'
import { most, outcomeOf, tlsOf } from './answers.ts'
import type { Send } from './sink.ts'

/**
 * Sends a batch as one Standard Webhooks message, with its events in `data.events`. Events that are not JSON are sent
 * as strings. After a recent change of the secret the previous one signs too.
 */
export const sendEventWebhook: Send = async ({ outbound, now }, target, batch, signal) => {
  const { destination, credential = '', previous } = target
  const at = now()
  const events = batch.events.map(({ text }) => text)
  const body = `{"type":"audit.events","timestamp":"${at.toISOString()}","data":{"events":[${events.join(',')}]}}`
  const secrets = previous === undefined ? [credential] : [credential, previous]
  const answer = await outbound.request(destination.url ?? '', {
    ...signedWebhook(secrets, { id: batch.id, at, body }),
    tls: tlsOf(destination),
    signal,
    ...most,
  })
  return outcomeOf(answer)
}
