import type { Kek } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import type { Audit } from '../audit/index.ts'
import { createChannels } from './channels.ts'
import { createNotificationDeliveries } from './deliveries.ts'
import { createMailer } from './mail.ts'
import { notificationHandlers } from './notifications.handlers.ts'
import { pruneNotifications } from './notifications.queries.ts'
import { createNotificationRules } from './notifications.ts'
import { createChannelSettings } from './settings.ts'
import { createTester } from './try-out.ts'
import { createWatch, type Silence } from './watch.ts'

export { countOpenNotifications } from './notifications.queries.ts'
export type { Notice, NotificationRules, RaiseNotification } from './notifications.ts'

type NotificationsDeps = {
  db: Database
  audit: Audit
  pager: Pager
  now: () => Date
  /** Seals the signing secret of webhooks. */
  kek: Kek
  publicUrl: string
  smtpUrl: string | undefined
  outbound: Outbound
  signals: Parameters<typeof createNotificationRules>[0]['signals']
  tenantName: (tenant: TenantId) => Promise<string | undefined>
  /** Receives failures to attempt or to record a delivery. */
  onError: (e: Error) => void
}

/** Notifications for administrators: the inbox, and delivery by mail and webhook. */
export function createNotifications(deps: NotificationsDeps) {
  const mailer = deps.smtpUrl === undefined ? undefined : createMailer(deps.smtpUrl, deps.publicUrl)
  const mailAvailable = mailer !== undefined
  const settings = createChannelSettings({ ...deps, mailAvailable })
  const channels = createChannels({ ...deps, mailer })
  const rules = createNotificationRules({ ...deps, settings, mailAvailable, wake: () => deliveries.wake() })
  const deliveries = createNotificationDeliveries({ ...deps, channels, settings, notify: rules.notify })
  const test = createTester({ ...deps, settings, channels, mailAvailable })
  const watch = createWatch({ ...deps, rules })

  return {
    notify: rules.notify,
    close: rules.close,
    closeOthers: rules.closeOthers,
    tenantsWithOpen: rules.tenantsWithOpen,
    restate: rules.restate,
    closedByPersonAt: rules.closedByPersonAt,
    /** Another module knows the silent gateways, so the caller passes a function that returns them. */
    jobs: (silentGateways: () => Promise<Silence>) => [
      { name: 'deliver_notifications', cron: '* * * * *', run: deliveries.deliver },
      { name: 'watch_gateways', cron: '* * * * *', run: () => watch.watchGateways(silentGateways) },
    ],
    prunes: [pruneNotifications],
    deliver: deliveries.deliver,
    stop: deliveries.stop,
    handlers: notificationHandlers({ ...deps, rules, settings, test }),
  }
}
