import type { Kek } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import { orderOf, type Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/serve.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import type { Audit } from '../audit/index.ts'
import { createChannels } from './channels.ts'
import { createDeliveries } from './deliveries.ts'
import { createMailer } from './mail.ts'
import { type NotificationRow, select } from './notifications.queries.ts'
import { createNotificationRules } from './notifications.ts'
import { createChannelSettings } from './settings.ts'
import { createTester } from './try-out.ts'
import { createWatch } from './watch.ts'

export type { Notice, Notify } from './notifications.ts'
export type { Expiry, SilentGateway } from './watch.ts'

export type NotificationsDeps = {
  db: Database
  audit: Audit
  pager: Pager
  now: () => Date
  /** Seals the signing secret of webhooks. */
  kek: Kek
  publicUrl: string
  smtpUrl: string | undefined
  outbound: Outbound
  tenantName: (tenant: TenantId) => Promise<string | undefined>
  /** Hears of deliveries that could not be tried or written down. */
  onError: (e: Error) => void
}

/** What administrators should hear of: an inbox, and its delivery by mail and webhook. */
export function createNotifications(deps: NotificationsDeps) {
  const { db, pager, smtpUrl, publicUrl } = deps
  const mailer = smtpUrl === undefined ? undefined : createMailer(smtpUrl, publicUrl)
  const mailAvailable = mailer !== undefined
  const settings = createChannelSettings({ ...deps, mailAvailable })
  const channels = createChannels({ ...deps, mailer })
  const rules = createNotificationRules({ ...deps, settings, mailAvailable, wake: () => deliveries.wake() })
  const deliveries = createDeliveries({ ...deps, channels, settings, notify: rules.notify })
  const test = createTester({ ...deps, settings, channels, mailAvailable })
  const watch = createWatch({ ...deps, rules })

  return {
    notify: rules.notify,
    /** Jobs: safe to run at any time, on any replica. */
    deliver: deliveries.deliver,
    watchGateways: watch.watchGateways,
    warnOfExpiry: watch.warnOfExpiry,
    forgetOld: watch.forgetOld,
    stop: deliveries.stop,

    handlers: {
      listNotifications: ({ actor, query }) =>
        db.inTenant(actor.tenantId, async (tx) => {
          const { state = 'open', kind, severity, sort = '-created_at', ...page } = query
          const filter = { state, ...(kind && { kind }), ...(severity && { severity }) }
          const scope = `listNotifications|${actor.tenantId}|${JSON.stringify(filter)}`
          const order = orderOf(sort, { created_at: { column: 'created_at', kind: 'time' } }, 'notification_id')
          const found = await pager.page(select(tx, actor.tenantId, filter), page, order, scope)
          return { items: found.items.map(view), next_cursor: found.next_cursor }
        }),
      acknowledgeNotification: async ({ actor, params }) => {
        const { row, changed } = await rules.acknowledge(actor, params.notification_id)
        return { notification: view(row), changed }
      },
      getNotificationSettings: async ({ actor }) =>
        settings.view(await db.inTenant(actor.tenantId, (tx) => settings.read(tx, actor.tenantId))),
      updateNotificationSettings: async ({ actor, body }) => {
        const { stored, secret } = await settings.update(actor, body)
        return { settings: settings.view(stored), webhook_secret: secret }
      },
      testNotificationSettings: async ({ actor, request }) => ({ results: await test(actor, request.signal) }),
    } satisfies Partial<Handlers>,
  }
}
export type Notifications = ReturnType<typeof createNotifications>

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
