import type { Database } from '../../db/database.ts'
import { createLeasedWorker } from '../../jobs/leased-worker.ts'
import { encodeId } from '../../kernel/ids.ts'
import { hour, minute, second } from '../../kernel/time.ts'
import type { Channels, DeliveryOutcome } from './channels.ts'
import * as queries from './deliveries.queries.ts'
import type { RaiseNotification } from './notifications.ts'
import type { ChannelSettings, StoredNotificationSettings } from './settings.ts'

/**
 * Delay before each attempt, counted from the previous failure; the schedule that Standard Webhooks proposes. After the
 * last attempt the delivery fails.
 */
const waits = [0, 5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
const perRound = 32
const perTenant = 4
/** A delivery that is due before the next run of the job gets a timer of its own. */
const ownTimerMs = minute

/** Delivers notifications by mail and webhook, each at least once, until it succeeds or fails for good. */
export function createNotificationDeliveries(deps: {
  db: Database
  now: () => Date
  channels: Channels
  settings: Pick<ChannelSettings, 'read' | 'openSecret' | 'turnOffWebhook'>
  notify: RaiseNotification
  onError: (e: Error) => void
}) {
  const { db, now, channels, settings, notify, onError } = deps
  const timers = new Set<NodeJS.Timeout>()
  let running: Promise<void> | undefined
  let again = false

  /** Undefined if the settings have changed and nothing is to be sent any more. */
  async function attempt(
    c: queries.LeasedDelivery,
    stored: StoredNotificationSettings,
  ): Promise<DeliveryOutcome | undefined> {
    const { email, webhook } = stored
    const id = encodeId('notification', c.notification_id)
    if (c.channel === 'email') {
      if (!email.enabled || !email.recipients.includes(c.recipient)) return undefined
      return channels.mail(id, c.recipient, c, worker.signal)
    }
    const secret = await settings.openSecret(c.tenant_id, stored)
    if (!webhook.enabled || webhook.url === null || secret === undefined) return undefined
    return channels.webhook(id, { url: webhook.url, secret }, c, worker.signal)
  }

  const record = (c: queries.LeasedDelivery, outcome: DeliveryOutcome, wait: number | undefined) =>
    db.inTenant(c.tenant_id, async (tx) => {
      const at = now()
      if (outcome.ok) await queries.finishDelivery(tx, c, 'delivered', null, at)
      else if (wait === undefined) await queries.finishDelivery(tx, c, 'failed', outcome.error, at)
      else await queries.postponeDelivery(tx, c, outcome.error ?? '', new Date(at.getTime() + wait))
    })

  /** On a 410 response: turns the webhook off, fails its pending deliveries, and notifies administrators. */
  const giveUpWebhook = (c: queries.LeasedDelivery, url: string) =>
    db.inTenant(c.tenant_id, async (tx) => {
      if (!(await settings.turnOffWebhook(tx, c.tenant_id, url))) return false
      await queries.failPendingWebhooks(
        tx,
        c.tenant_id,
        'The receiver answered 410 Gone, so the webhook was turned off.',
        now(),
      )
      const { host } = new URL(url)
      await notify(tx, c.tenant_id, {
        kind: 'webhook.disabled',
        severity: 'warning',
        title: `The notification webhook at ${host} was turned off`,
        detail: `${host} answered 410 Gone, so no more messages are sent to it. Set another URL, or turn the webhook on again.`,
        subject: { type: 'settings', id: null, name: 'notifications' },
        dedupe_key: 'webhook.disabled',
      })
      return true
    })

  async function deliverOne(c: queries.LeasedDelivery): Promise<void> {
    const stored = await db.inTenant(c.tenant_id, (tx) => settings.read(tx, c.tenant_id))
    const outcome = await attempt(c, stored).catch((e: Error): DeliveryOutcome => {
      onError(e)
      return { ok: false, error: 'The message was not sent because of an internal error: see the log of the server.' }
    })
    // The attempt was aborted: the lease runs out and another replica tries again.
    if (worker.signal.aborted) return
    if (!outcome)
      return record(c, { ok: false, error: 'The notification settings no longer include this receiver.' }, undefined)
    if (outcome.gone && stored.webhook.url !== null && (await giveUpWebhook(c, stored.webhook.url))) return
    const wait = waits[c.attempts]
    await record(c, outcome, wait)
    if (!outcome.ok && wait !== undefined && wait < ownTimerMs) wakeIn(wait)
  }

  const worker = createLeasedWorker<queries.LeasedDelivery, queries.LeasedDelivery>({
    nameOf: (c) => `${c.notification_id} ${c.channel} ${c.recipient}`,
    take: async (taken) => taken,
    work: deliverOne,
    onError: (e) => onError(e as Error),
  })

  /** Takes due deliveries, a few per tenant, so that a slow receiver does not hold up other tenants. */
  async function takeDue(): Promise<queries.LeasedDelivery[]> {
    const at = now()
    const taken: queries.LeasedDelivery[] = []
    for (const tenant of await db.acrossTenants((tx) => queries.tenantsWithDueDeliveries(tx, at, perRound))) {
      const most = Math.min(perTenant, perRound - taken.length)
      if (most === 0) break
      taken.push(...(await db.inTenant(tenant, (tx) => queries.takeDue(tx, tenant, at, most))))
    }
    return taken
  }

  async function deliverAll(): Promise<void> {
    while (!worker.signal.aborted) {
      const taken = await takeDue()
      if (taken.length === 0) return
      await Promise.allSettled(taken.map(worker.start))
    }
  }

  /**
   * Resolves when nothing is due any more. Runs one at a time; a call during a run causes another run right after it.
   */
  function deliver(): Promise<void> {
    if (running) {
      again = true
      return running
    }
    running = (async () => {
      do {
        again = false
        await deliverAll()
      } while (again && !worker.signal.aborted)
    })().finally(() => {
      running = undefined
    })
    return running
  }

  function wakeIn(ms: number): void {
    if (worker.signal.aborted) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      deliver().catch(onError)
    }, ms).unref()
    timers.add(timer)
  }

  return {
    deliver,
    wake: () => wakeIn(0),
    /** Aborts running attempts. They are due again when their lease runs out. */
    stop: async (): Promise<void> => {
      for (const timer of timers) clearTimeout(timer)
      await Promise.all([worker.stop(), running?.catch(() => {})])
    },
  }
}
