import { encodeId } from '../../kernel/ids.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import { rejectOnAbort } from '../../outbound/reject-on-abort.ts'
import type { LeasedDelivery } from './deliveries.queries.ts'
import type { Mailer } from './mail.ts'
import { sendNotificationWebhook } from './webhook.ts'

/** `error`: one sentence for an administrator. `gone`: the receiver says that the URL is gone for good. */
export type DeliveryOutcome = { ok: boolean; error: string | null; gone?: boolean }
type Message = Pick<
  LeasedDelivery,
  'tenant_id' | 'kind' | 'severity' | 'title' | 'detail' | 'subject_type' | 'subject_id' | 'subject_name' | 'created_at'
>
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
    error: e instanceof Error ? e.message : 'The delivery failed.',
  })

  return {
    mail: async (id: string, recipient: string, m: Sendable, signal: AbortSignal): Promise<DeliveryOutcome> => {
      if (!mailer) return { ok: false, error: 'This deployment has no mail server.' }
      const text = mailText(m, (await tenantName(m.tenant_id)) ?? '', publicUrl)
      const mailMessage = { id, recipient, subject: mailSubject(m), text, at: m.created_at }
      const limit = AbortSignal.any([signal, AbortSignal.timeout(mailWithinMs)])
      try {
        await rejectOnAbort(mailer.send(mailMessage), limit)
        return { ok: true, error: null }
      } catch (e) {
        return limit.aborted ? { ok: false, error: 'The mail server did not answer in time.' } : sentence(e)
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

/** Returns the body of a webhook in the shape that Standard Webhooks proposes: type, timestamp, data. */
const webhookBody = (id: string, m: Sendable): string =>
  JSON.stringify({
    type: m.kind,
    timestamp: m.created_at.toISOString(),
    data: {
      notification_id: id,
      tenant_id: encodeId('tenant', m.tenant_id),
      kind: m.kind,
      severity: m.severity,
      title: m.title,
      detail: m.detail,
      subject: { type: m.subject_type, id: m.subject_id, name: m.subject_name },
      created_at: m.created_at.toISOString(),
    },
  })

const mailSubject = (m: Pick<Message, 'severity' | 'title'>): string => `[Holdfast ${m.severity}] ${m.title}`

function mailText(m: Sendable, tenantName: string, publicUrl: string): string {
  const about = [m.subject_type, m.subject_name, m.subject_id && `(${m.subject_id})`].filter(Boolean).join(' ')
  return `${m.title}

${m.detail}

Severity: ${m.severity}
Kind:     ${m.kind}
About:    ${about}
Tenant:   ${tenantName}
Time:     ${m.created_at.toISOString()}

Sent by ${publicUrl}
`
}
