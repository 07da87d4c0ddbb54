import { orAbort } from '../../kernel/or-abort.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import type { Mailer } from './mail.ts'
import { type Message, mailSubject, mailText, webhookBody } from './message.ts'
import { sendNotificationWebhook } from './webhook.ts'

/** `error`: one sentence for an administrator. `gone`: the receiver says that the URL is gone for good. */
export type DeliveryOutcome = { ok: boolean; error: string | null; gone?: boolean }
export type Sendable = Omit<Message, 'kind'> & { kind: string }

const mailWithinMs = 45_000

/** Makes one attempt over one channel. Never throws for a fault of the receiver. */
export function createChannels(deps: {
  outbound: Pick<Outbound, 'request'>
  mailer: Mailer | undefined
  tenantName: (tenant: Sendable['tenant_id']) => Promise<string | undefined>
  publicUrl: string
  now: () => Date
}) {
  const { outbound, mailer, tenantName, publicUrl, now } = deps
  const sentence = (e: unknown): DeliveryOutcome => ({
    ok: false,
    error: e instanceof Error ? e.message : 'It failed.',
  })

  return {
    mail: async (id: string, recipient: string, m: Sendable, signal: AbortSignal): Promise<DeliveryOutcome> => {
      if (!mailer) return { ok: false, error: 'This deployment has no mail server.' }
      const text = mailText(m, (await tenantName(m.tenant_id)) ?? '', publicUrl)
      const mailMessage = { id, recipient, subject: mailSubject(m), text, at: m.created_at }
      const limit = AbortSignal.any([signal, AbortSignal.timeout(mailWithinMs)])
      try {
        await orAbort(mailer.send(mailMessage), limit)
        return { ok: true, error: null }
      } catch (e) {
        return limit.aborted ? { ok: false, error: 'The mail server took too long.' } : sentence(e)
      }
    },
    webhook: async (
      id: string,
      to: { url: string; secret: string },
      m: Sendable,
      signal: AbortSignal,
    ): Promise<DeliveryOutcome> => {
      try {
        return await sendNotificationWebhook(outbound, to, { id, at: now(), body: webhookBody(id, m) }, signal)
      } catch (e) {
        return sentence(e)
      }
    },
  }
}
export type Channels = ReturnType<typeof createChannels>
