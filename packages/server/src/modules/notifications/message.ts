import { encodeId } from '../../kernel/ids.ts'
import type { LeasedDelivery } from './deliveries.queries.ts'

export type Message = Pick<
  LeasedDelivery,
  'tenant_id' | 'kind' | 'severity' | 'title' | 'detail' | 'subject_type' | 'subject_id' | 'subject_name' | 'created_at'
>

/** Returns the body of a webhook in the shape that Standard Webhooks proposes: type, timestamp, data. */
export const webhookBody = (id: string, m: Omit<Message, 'kind'> & { kind: string }): string =>
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

export const mailSubject = (m: Pick<Message, 'severity' | 'title'>): string => `[Holdfast ${m.severity}] ${m.title}`

export function mailText(m: Omit<Message, 'kind'> & { kind: string }, tenantName: string, publicUrl: string): string {
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
