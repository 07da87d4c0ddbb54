import type { Kek } from '@holdfast/crypto'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import type { Audit } from '../audit/index.ts'
import { createChannels } from './channels.ts'
import { createDeliveries } from './deliveries.ts'
import { createMailer } from './mail.ts'
import { notificationHandlers } from './notifications.handlers.ts'
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
  const { smtpUrl, publicUrl } = deps
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

    handlers: notificationHandlers({ ...deps, rules, settings, test }),
  }
}
export type Notifications = ReturnType<typeof createNotifications>
