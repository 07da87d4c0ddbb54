import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { leaseOf } from '../../db/lease.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { minute } from '../../kernel/time.ts'

type Delivery = Selectable<Tables['notification_deliveries']>
type Notification = Selectable<Tables['notifications']>
/** A delivery that this replica has the lease of. `attempts` includes this one, and names the holder. */
export type LeasedDelivery = Pick<Delivery, 'tenant_id' | 'notification_id' | 'channel' | 'recipient' | 'attempts'> &
  Pick<
    Notification,
    'kind' | 'severity' | 'title' | 'detail' | 'subject_type' | 'subject_id' | 'subject_name' | 'created_at'
  >

/** Longer than any attempt takes. A delivery whose lease has run out belongs to a replica that has ended. */
const leaseMs = 2 * minute
const { held } = leaseOf('notification_deliveries', {
  key: ['tenant_id', 'notification_id', 'channel', 'recipient'],
  holder: 'attempts',
  until: 'next_attempt_at',
  ms: leaseMs,
  open: { state: 'pending' },
})

const due = (tx: Tx, at: Date) =>
  tx.selectFrom('notification_deliveries').where('state', '=', 'pending').where('next_attempt_at', '<=', at)

/** Across tenants: tenants with a due delivery, the longest waiting first. */
export const tenantsWithDueDeliveries = async (tx: Tx, at: Date, most: number): Promise<TenantId[]> => {
  const rows = await due(tx, at)
    .select('tenant_id')
    .groupBy('tenant_id')
    .orderBy(sql`min(next_attempt_at)`)
    .limit(most)
    .execute()
  return rows.map((r) => r.tenant_id)
}

/** Takes the leases of due deliveries, oldest first. Rows that another replica is taking are skipped. */
export const takeDue = async (tx: Tx, tenant: TenantId, at: Date, most: number): Promise<LeasedDelivery[]> => {
  const until = new Date(at.getTime() + leaseMs)
  const { rows } = await sql<LeasedDelivery>`
    with due as (
      select notification_id, channel, recipient from notification_deliveries
      where tenant_id = ${tenant} and state = 'pending' and next_attempt_at <= ${at}
      order by next_attempt_at limit ${most} for update skip locked)
    update notification_deliveries d set attempts = attempts + 1, next_attempt_at = ${until}
    from due, notifications n
    where d.tenant_id = ${tenant} and n.tenant_id = ${tenant} and n.notification_id = d.notification_id
      and (d.notification_id, d.channel, d.recipient) = (due.notification_id, due.channel, due.recipient)
    returning d.tenant_id, d.notification_id, d.channel, d.recipient, d.attempts, n.kind, n.severity, n.title, n.detail,
      n.subject_type, n.subject_id, n.subject_name, n.created_at`.execute(tx)
  return rows
}

type Ended = 'delivered' | 'failed'
export const finishDelivery = (tx: Tx, c: LeasedDelivery, state: Ended, error: string | null, at: Date) =>
  held(tx, c).set({ state, finished_at: at, next_attempt_at: null, last_error: error }).execute()

export const postponeDelivery = (tx: Tx, c: LeasedDelivery, error: string, until: Date) =>
  held(tx, c).set({ next_attempt_at: until, last_error: error }).execute()

export const failPendingWebhooks = (tx: Tx, tenant: TenantId, error: string, at: Date) =>
  tx
    .updateTable('notification_deliveries')
    .set({ state: 'failed', finished_at: at, next_attempt_at: null, last_error: error })
    .where('tenant_id', '=', tenant)
    .where('channel', '=', 'webhook')
    .where('state', '=', 'pending')
    .execute()
