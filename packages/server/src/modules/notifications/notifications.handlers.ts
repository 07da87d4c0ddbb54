import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import { encodeId, idOf } from '../../kernel/ids.ts'
import { versioned } from '../../kernel/version.ts'
import { type NotificationRow, select } from './notifications.queries.ts'
import type { NotificationRules } from './notifications.ts'
import type { ChannelSettings, StoredNotificationSettings } from './settings.ts'
import type { Tester } from './try-out.ts'

export function notificationHandlers(deps: {
  db: Database
  pager: Pager
  rules: NotificationRules
  settings: ChannelSettings
  test: Tester
}) {
  const { db, pager, rules, settings, test } = deps

  return {
    listNotifications: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const { state = 'open', kind, severity } = query
        const filter = { state, ...(kind && { kind }), ...(severity && { severity }) }
        const found = await pager.list(select(tx, actor.tenantId, filter), {
          operation: 'listNotifications',
          tenant: actor.tenantId,
          query: { ...query, state },
          orders: { created_at: { column: 'created_at', kind: 'time' } },
          tie: 'notification_id',
        })
        return { items: found.items.map(view), next_cursor: found.next_cursor }
      }),
    acknowledgeNotification: async ({ actor, params }) => {
      const { row, changed } = await rules.acknowledge(actor, idOf('notification', params.notification_id))
      return { notification: view(row), changed }
    },
    getNotificationSettings: async ({ actor }) => {
      const stored = await db.inTenant(actor.tenantId, (tx) => settings.read(tx, actor.tenantId))
      return versioned(stored, settings.view(stored))
    },
    updateNotificationSettings: async ({ actor, body, expected }) => {
      const { available: _, ...email } = body.email
      const { rotate_secret: rotates = false, origin: __, secret_set: ___, ...webhook } = body.webhook
      const allow = (before: StoredNotificationSettings) => expected.require(before)
      const { stored, secret } = await settings.replace(actor, { email, webhook }, { rotates, allow })
      return { settings: settings.view(stored), secret }
    },
    testNotificationSettings: async ({ actor, request }) => ({ results: await test(actor, request.signal) }),
  } satisfies Partial<Handlers>
}

const instant = (text: string | null) => text && new Date(text).toISOString()
const view = (n: NotificationRow) => ({
  notification_id: encodeId('notification', n.notification_id),
  tenant_id: encodeId('tenant', n.tenant_id),
  kind: n.kind,
  severity: n.severity,
  title: n.title,
  detail: n.detail,
  subject: { type: n.subject_type, id: n.subject_id, name: n.subject_name },
  state: n.acknowledged_at ? ('acknowledged' as const) : ('open' as const),
  created_at: n.created_at.toISOString(),
  acknowledged_at: n.acknowledged_at?.toISOString() ?? null,
  acknowledged_by: n.acknowledged_by_type
    ? { type: n.acknowledged_by_type, id: n.acknowledged_by_id, name: n.acknowledged_by_name }
    : null,
  deliveries: n.deliveries.map((d) => ({
    channel: d.channel,
    recipient: d.recipient || null,
    state: d.state,
    attempts: d.attempts,
    next_attempt_at: instant(d.next_attempt_at),
    finished_at: instant(d.finished_at),
    last_error: d.last_error,
  })),
})
