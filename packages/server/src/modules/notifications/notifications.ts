import { type NotificationKind, type NotificationSeverity, notificationSeverities } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../db/database.ts'
import type { Actor, Source, TenantId } from '../../kernel/actor.ts'
import { encodeId, missing, newUuid } from '../../kernel/ids.ts'
import type { Signals } from '../../replication/signals.ts'
import type { Audit } from '../audit/index.ts'
import * as queries from './notifications.queries.ts'
import type { ChannelSettings, StoredNotificationSettings } from './settings.ts'
import { plainLines, shortLine } from './text.ts'

export type Notice = {
  kind: NotificationKind
  severity: NotificationSeverity
  /** One line: the event and its subject. */
  title: string
  /** Sentences: why it matters, and what to do about it. */
  detail: string
  /** Subject of the notification; `id` in its API form. */
  subject: { type: string; id: string | null; name: string | null }
  /** Key of the cause. While a notification of it is open, no second one is made. */
  dedupe_key?: string
}
/**
 * Inserts in the caller's transaction, and sends after its commit. Returns the new id, or undefined for a duplicate.
 */
export type RaiseNotification = (tx: Tx, tenant: TenantId, notice: Notice) => Promise<string | undefined>

const bySystem = { type: 'system', id: null, name: 'system' }

export function createNotificationRules(deps: {
  db: Database
  audit: Audit
  now: () => Date
  settings: Pick<ChannelSettings, 'read'>
  mailAvailable: boolean
  signals: Pick<Signals, 'tellAfter'>
  /** Called after the commit of new deliveries. */
  wake: () => void
}) {
  const { db, audit, now, settings, mailAvailable, signals, wake } = deps

  const notify: RaiseNotification = async (tx, tenant, notice) => {
    const row = {
      notification_id: newUuid(),
      kind: notice.kind,
      severity: notice.severity,
      title: shortLine(notice.title, 200),
      detail: plainLines(notice.detail, 4000),
      subject_type: notice.subject.type,
      subject_id: notice.subject.id,
      subject_name: notice.subject.name === null ? null : shortLine(notice.subject.name, 200),
      dedupe_key: notice.dedupe_key ?? null,
      created_at: now(),
    }
    if (!(await queries.insertNotification(tx, tenant, row))) return undefined
    signals.tellAfter(tx, tenant, 'notification', [row.notification_id])
    const receivers = receiversOf(await settings.read(tx, tenant), notice, mailAvailable)
    if (receivers.length > 0) {
      await queries.insertDeliveries(tx, tenant, row.notification_id, receivers, row.created_at)
      db.afterCommit(tx, wake)
    }
    return row.notification_id
  }

  const acknowledgeAs = async (
    tx: Tx,
    source: Source,
    by: queries.Acknowledger,
    about: Pick<queries.NotificationRow, 'notification_id' | 'title'>,
  ): Promise<boolean> => {
    if (!(await queries.markAcknowledged(tx, source.tenantId, about.notification_id, by, now()))) return false
    const notification_id = encodeId('notification', about.notification_id)
    const target = { type: 'notification', id: notification_id, name: about.title }
    await audit.record(tx, source, 'notification.acknowledged', { notification_id }, { target })
    return true
  }

  return {
    notify,
    /** Replaces the text of the open notification of a cause. False if none is open. It is not sent again. */
    restate: async (tx: Tx, tenant: TenantId, notice: Notice & { dedupe_key: string }): Promise<boolean> => {
      const open = await queries.openOf(tx, tenant, notice.dedupe_key)
      if (!open) return false
      const title = shortLine(notice.title, 200)
      if (title === open.title) return true
      return queries.restate(tx, tenant, open.notification_id, { title, detail: plainLines(notice.detail, 4000) })
    },
    closedByPersonAt: queries.closedByPersonAt,
    /** Closes the open notification of a cause, in the transaction that ends the cause. */
    close: async (tx: Tx, source: Source, dedupeKey: string): Promise<void> => {
      const open = await queries.openOf(tx, source.tenantId, dedupeKey)
      if (open) await acknowledgeAs(tx, source, bySystem, open)
    },
    /**
     * Closes open notifications of a kind whose cause is not among these. Causes that may return in the meantime are
     * read, and locked, in the closing transaction: pass a function for them.
     */
    closeOthers: async (
      source: Source,
      kind: NotificationKind,
      causes: ReadonlySet<string> | ((tx: Tx) => Promise<ReadonlySet<string>>),
    ): Promise<void> => {
      const { tenantId } = source
      for (const open of await db.inTenant(tenantId, (tx) => queries.openOfKind(tx, tenantId, kind)))
        await db.inTenant(tenantId, async (tx) => {
          const currentCauses = typeof causes === 'function' ? await causes(tx) : causes
          if (open.dedupe_key === null || !currentCauses.has(open.dedupe_key))
            await acknowledgeAs(tx, source, bySystem, open)
        })
    },
    /** Across tenants: tenants with an open notification of a kind. */
    tenantsWithOpen: (kind: NotificationKind): Promise<TenantId[]> =>
      db.acrossTenants((tx) => queries.tenantsWithOpen(tx, kind)),
    /** Idempotent: an acknowledged notification keeps the name of the first person. */
    acknowledge: (actor: Actor, id: string): Promise<{ row: queries.NotificationRow; changed: boolean }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const found = (await queries.find(tx, actor.tenantId, id)) ?? missing('notification')
        const by = { type: actor.type, id: actor.id, name: actor.name }
        const changed = await acknowledgeAs(tx, actor, by, found)
        return { row: (await queries.find(tx, actor.tenantId, id)) ?? found, changed }
      }),
  }
}
export type NotificationRules = ReturnType<typeof createNotificationRules>

type Receiver = { channel: 'email' | 'webhook'; recipient: string }

function receiversOf(
  { email, webhook }: StoredNotificationSettings,
  { kind, severity }: Notice,
  mailAvailable: boolean,
): Receiver[] {
  const wants = (kinds: readonly NotificationKind[]) => kinds.length === 0 || kinds.includes(kind)
  const rank = (s: NotificationSeverity) => notificationSeverities.indexOf(s)
  const receivers: Receiver[] = []
  if (mailAvailable && email.enabled && wants(email.kinds) && rank(severity) >= rank(email.min_severity))
    for (const recipient of email.recipients) receivers.push({ channel: 'email', recipient })
  if (webhook.enabled && webhook.url !== null && wants(webhook.kinds))
    receivers.push({ channel: 'webhook', recipient: '' })
  return receivers
}
