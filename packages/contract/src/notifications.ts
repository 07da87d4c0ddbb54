import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import {
  Closed,
  Count,
  Id,
  List,
  ListQuery,
  Nullable,
  OneOf,
  Party,
  Secret,
  Shown,
  Time,
  WasChanged,
} from './schema.ts'
import { notificationChannels, notificationKinds, notificationSeverities } from './vocabulary.ts'

const Kind = OneOf(notificationKinds)
const Severity = OneOf(notificationSeverities)
const Channel = OneOf(notificationChannels)

export const Notification = Closed(
  {
    notification_id: Id('notification'),
    tenant_id: Id('tenant'),
    kind: Kind,
    severity: Severity,
    title: Type.String(),
    detail: Type.String(),
    subject: Party,
    state: OneOf(['open', 'acknowledged']),
    created_at: Time,
    acknowledged_at: Nullable(Time),
    acknowledged_by: Nullable(Party),
    deliveries: Type.Array(
      Closed({
        channel: Channel,
        recipient: Nullable(Type.String({ description: 'Mail address; null for the webhook' })),
        state: OneOf(['pending', 'delivered', 'failed']),
        attempts: Count,
        next_attempt_at: Nullable(Time),
        finished_at: Nullable(Time),
        last_error: Nullable(Type.String()),
      }),
    ),
  },
  { title: 'Notification' },
)
export type Notification = Static<typeof Notification>

export const listNotifications = endpoint({
  method: 'GET',
  path: '/v1/admin/notifications',
  summary: 'List notifications for administrators',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  query: ListQuery(
    {
      state: Type.Optional(OneOf(['open', 'acknowledged', 'all'])),
      kind: Type.Optional(Kind),
      severity: Type.Optional(Severity),
    },
    ['created_at'] as const,
    '-created_at',
  ),
  response: List(Notification),
})

export const acknowledgeNotification = endpoint({
  method: 'POST',
  path: '/v1/admin/notifications/{notification_id}/acknowledge',
  summary: 'Acknowledge a notification',
  description: 'The inbox no longer shows it.',
  access: { by: ['session', 'api_key'], permission: 'operations:write' },
  audit: 'notification.acknowledged',
  params: Closed({ notification_id: Id('notification') }),
  response: Closed({ notification: Notification, changed: WasChanged }),
})

/** The common form of RFC 5321 addresses: no quoting, no comments, no line breaks. */
const MailAddress = Type.String({
  maxLength: 254,
  pattern:
    "^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$",
  examples: ['security@example.com'],
})
const Kinds = Type.Array(Kind, {
  maxItems: 64,
  uniqueItems: true,
  description: 'Kinds of notifications that are sent; empty: every kind',
})

const Email = Closed({
  enabled: Type.Boolean(),
  recipients: Type.Array(MailAddress, { maxItems: 20, uniqueItems: true }),
  kinds: Kinds,
  min_severity: Severity,
})
const webhookUrl = { maxLength: 2048, examples: ['https://hooks.example.com/holdfast'] }
const Webhook = Closed({
  enabled: Type.Boolean(),
  url: Nullable(Type.String(webhookUrl)),
  kinds: Kinds,
})

export const NotificationSettings = Closed(
  {
    email: Closed({
      ...Email.properties,
      available: Type.Boolean({ description: 'True: this deployment has a mail server' }),
    }),
    webhook: Closed({
      enabled: Type.Boolean(),
      origin: Nullable(Type.String({ description: 'Host of the receiver. The rest of the URL is a secret' })),
      kinds: Kinds,
      secret_set: Type.Boolean({ description: 'True: a signing secret is stored' }),
    }),
  },
  { title: 'NotificationSettings' },
)
export type NotificationSettings = Static<typeof NotificationSettings>
export type EmailSettings = Static<typeof Email>
export type WebhookSettings = Static<typeof Webhook>

export const defaultEmailSettings: EmailSettings = { enabled: false, recipients: [], kinds: [], min_severity: 'info' }
export const defaultWebhookSettings: WebhookSettings = { enabled: false, url: null, kinds: [] }

export const getNotificationSettings = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/notifications',
  summary: 'Get the notification settings',
  description: 'These are the destinations of notifications.',
  access: { by: ['session', 'api_key'], permission: 'settings:read' },
  response: NotificationSettings,
  etag: true,
})

export const updateNotificationSettings = endpoint({
  method: 'PUT',
  path: '/v1/admin/settings/notifications',
  summary: 'Replace the notification settings',
  description: 'Only this answer contains a new signing secret of the webhook (Standard Webhooks, `whsec_…`).',
  access: { by: ['session', 'api_key'], permission: 'settings:write' },
  audit: 'notification_settings.updated',
  body: Closed({
    email: Closed({ ...Shown(NotificationSettings.properties.email), ...Email.properties }),
    webhook: Closed({
      ...Shown(NotificationSettings.properties.webhook),
      ...Webhook.properties,
      url: Type.Optional(
        Nullable(
          Type.String({ ...webhookUrl, description: 'URL of the webhook. It is never shown. Absent: unchanged' }),
        ),
      ),
      rotate_secret: Type.Optional(Type.Boolean({ description: 'True: creates a new secret' })),
    }),
  }),
  response: Closed({
    settings: NotificationSettings,
    secret: Nullable(Secret),
  }),
  ifMatch: true,
})

export const testNotificationSettings = endpoint({
  method: 'POST',
  path: '/v1/admin/settings/notifications/test',
  summary: 'Send a test notification',
  description: 'The server sends a message to every channel that has a destination, enabled or not.',
  access: { by: ['session', 'api_key'], permission: 'settings:write' },
  audit: 'notification_settings.tested',
  response: Closed({
    results: Type.Array(
      Closed({
        channel: Channel,
        recipient: Nullable(Type.String()),
        ok: Type.Boolean({ description: 'True: the message was sent' }),
        error: Nullable(Type.String({ description: 'One sentence' })),
      }),
    ),
  }),
})
