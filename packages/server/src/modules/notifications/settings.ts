import {
  defaultEmailSettings,
  defaultWebhookSettings,
  type EmailSettings,
  type NotificationSettings,
  type WebhookSettings,
} from '@holdfast/contract/notifications'
import { type Kek, seal, unseal } from '@holdfast/crypto'
import type { Database, Tx } from '../../db/database.ts'
import { jobSource, type Source, type TenantId } from '../../kernel/actor.ts'
import { failField } from '../../kernel/app-error.ts'
import type { Outbound } from '../../outbound/outbound.ts'
import { mintWebhookSecret } from '../../outbound/standard-webhook.ts'
import type { Audit, FieldChanges } from '../audit/index.ts'
import * as queries from './settings.queries.ts'

export type StoredNotificationSettings = { email: EmailSettings; webhook: WebhookSettings; secretJwe: string | null }
/** Settings to store. The URL is never shown, so a caller may not know it: an absent `url` keeps the stored one. */
type Wanted = { email: EmailSettings; webhook: Omit<WebhookSettings, 'url'> & { url?: string | null } }

const sealContext = (tenant: TenantId) => `notification_settings/${tenant}/webhook_secret_jwe`

export function createChannelSettings({
  db,
  audit,
  now,
  kek,
  outbound,
  mailAvailable,
}: {
  db: Database
  audit: Audit
  now: () => Date
  kek: Kek
  outbound: Pick<Outbound, 'refusalOf'>
  mailAvailable: boolean
}) {
  const view = ({
    email,
    webhook: { url, enabled, kinds },
    secretJwe,
  }: StoredNotificationSettings): NotificationSettings => ({
    email: { ...email, available: mailAvailable },
    webhook: { enabled, kinds, origin: originOf(url), secret_set: secretJwe !== null },
  })

  function check({ email, webhook }: StoredNotificationSettings, before: StoredNotificationSettings): void {
    if (email.enabled && !before.email.enabled && !mailAvailable)
      failField('email.enabled', 'this deployment has no mail server: ask its operator to set HOLDFAST_SMTP_URL')
    if (email.enabled && email.recipients.length === 0)
      failField('email.recipients', 'must have at least one recipient while mail is enabled')
    if (webhook.enabled && webhook.url === null) failField('webhook.url', 'is required while the webhook is enabled')
    const refusal = webhook.url !== null && webhook.url !== before.webhook.url && outbound.refusalOf(webhook.url)
    if (refusal) failField('webhook.url', refusal)
  }

  return {
    view,
    read: async (tx: Tx, tenant: TenantId): Promise<StoredNotificationSettings> =>
      withDefaults(await queries.read(tx, tenant)),

    /**
     * Replaces the settings. `allow` may refuse after it sees the stored ones. The first webhook URL creates a secret,
     * and so does `rotates`; the secret is returned once.
     */
    replace: async (
      actor: Source,
      wanted: Wanted,
      { rotates, allow }: { rotates: boolean; allow: (before: StoredNotificationSettings) => void },
    ): Promise<{ stored: StoredNotificationSettings; secret: string | null }> => {
      const tenant = actor.tenantId
      // Sealing is slow, so it happens before the transaction, even if the secret then turns out not to be needed.
      const secret = mintWebhookSecret()
      const sealed = await seal(kek, sealContext(tenant), Buffer.from(secret))
      return db.inTenant(tenant, async (tx) => {
        const at = now()
        const before = withDefaults(await queries.lock(tx, tenant, at))
        allow(before)
        const { email } = wanted
        const webhook = { ...before.webhook, ...wanted.webhook }
        const takesSecret = rotates || (webhook.url !== null && before.secretJwe === null)
        const after = { email, webhook, secretJwe: takesSecret ? sealed : before.secretJwe }
        check(after, before)
        const changed = differences(before, after)
        if (Object.keys(changed).length === 0 && !takesSecret) return { stored: before, secret: null }
        await queries.write(tx, tenant, { email, webhook, webhook_secret_jwe: after.secretJwe }, at)
        const details = takesSecret && { details: { webhook_secret: 'made anew' } }
        await audit.record(tx, actor, 'notification_settings.updated', {}, { changes: changed, ...details })
        return { stored: after, secret: takesSecret ? secret : null }
      })
    },

    /**
     * Turns off the webhook because its URL is gone for good. False if it was already turned off or has another URL.
     */
    turnOffWebhook: async (tx: Tx, tenant: TenantId, url: string): Promise<boolean> => {
      const at = now()
      const before = withDefaults(await queries.lock(tx, tenant, at))
      if (!before.webhook.enabled || before.webhook.url !== url) return false
      const after = { ...before, webhook: { ...before.webhook, enabled: false } }
      const { email, webhook, secretJwe } = after
      await queries.write(tx, tenant, { email, webhook, webhook_secret_jwe: secretJwe }, at)
      const source = jobSource(tenant, 'deliver_notifications')
      const changes = differences(before, after)
      await audit.record(tx, source, 'notification_settings.updated', {}, { changes })
      return true
    },

    openSecret: async (tenant: TenantId, { secretJwe }: StoredNotificationSettings): Promise<string | undefined> =>
      secretJwe === null ? undefined : (await unseal(kek, sealContext(tenant), secretJwe)).toString(),
  }
}
export type ChannelSettings = ReturnType<typeof createChannelSettings>

const withDefaults = (row: queries.StoredSettings | undefined): StoredNotificationSettings => ({
  email: { ...defaultEmailSettings, ...row?.email },
  webhook: { ...defaultWebhookSettings, ...row?.webhook },
  secretJwe: row?.webhook_secret_jwe ?? null,
})

/** The path of a webhook's URL is often a credential, so only the origin is ever shown. */
const originOf = (url: string | null): string | null => url && new URL(url).origin

function differences(before: StoredNotificationSettings, after: StoredNotificationSettings): FieldChanges {
  const found: Record<string, readonly [unknown, unknown]> = {}
  for (const channel of ['email', 'webhook'] as const) {
    const was: Record<string, unknown> = before[channel]
    for (const [field, value] of Object.entries<unknown>(after[channel]))
      if (JSON.stringify(was[field]) !== JSON.stringify(value)) found[`${channel}.${field}`] = [was[field], value]
  }
  if (found['webhook.url']) found['webhook.url'] = [originOf(before.webhook.url), originOf(after.webhook.url)]
  return found
}
