import type { NotificationChannel, NotificationKind, NotificationSeverity } from '@holdfast/contract/vocabulary'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Json } from './columns.ts'

export type NotificationsTables = {
  notifications: {
    tenant_id: TenantId
    notification_id: string
    kind: NotificationKind
    severity: NotificationSeverity
    title: string
    detail: string
    subject_type: string
    subject_id: string | null
    subject_name: string | null
    dedupe_key: string | null
    created_at: Date
    acknowledged_at: Date | null
    acknowledged_by_type: string | null
    acknowledged_by_id: string | null
    acknowledged_by_name: string | null
  }
  notification_deliveries: {
    tenant_id: TenantId
    notification_id: string
    channel: NotificationChannel
    recipient: Default<string>
    state: Default<'pending' | 'delivered' | 'failed'>
    attempts: Default<number>
    next_attempt_at: Date | null
    finished_at: Date | null
    last_error: string | null
  }
  notification_settings: {
    tenant_id: TenantId
    email: Json<Record<string, unknown>>
    webhook: Json<Record<string, unknown>>
    webhook_secret_jwe: string | null
    updated_at: Date
  }
}
