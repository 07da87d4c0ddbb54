import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

type Delivery = Selectable<Tables['notification_deliveries']>
type Notification = Selectable<Tables['notifications']>
/** `attempts`: this one included. */
export type Claimed = Pick<Delivery, 'tenant_id' | 'notification_id' | 'channel' | 'recipient' | 'attempts'> &
  Pick<
    Notification,
    'kind' | 'severity' | 'title' | 'detail' | 'subject_type' | 'subject_id' | 'subject_name' | 'created_at'
  >

/**
 * Across tenants: takes what is due, oldest first and at most `perTenant` of one tenant, so that a tenant whose receiver
 * is slow does not hold up the others. Nobody else takes it before `until`.
 */
export const claimDue = async (tx: Tx, due: { at: Date; until: Date; most: number; perTenant: number }) => {
  const { rows } = await sql<Claimed>`
    with due as (
      select d.tenant_id, d.notification_id, d.channel, d.recipient from notification_deliveries d
      where (d.tenant_id, d.notification_id, d.channel, d.recipient) in (
          select tenant_id, notification_id, channel, recipient from (
            select *, row_number() over (partition by tenant_id order by next_attempt_at) as place
            from notification_deliveries where state = 'pending' and next_attempt_at <= ${due.at}) as waiting
          where place <= ${due.perTenant} order by next_attempt_at limit ${due.most})
        and d.state = 'pending' and d.next_attempt_at <= ${due.at}
      for update skip locked)
    update notification_deliveries d set attempts = attempts + 1, next_attempt_at = ${due.until}
    from due, notifications n
    where (d.tenant_id, d.notification_id, d.channel, d.recipient) =
        (due.tenant_id, due.notification_id, due.channel, due.recipient)
      and n.tenant_id = d.tenant_id and n.notification_id = d.notification_id
    returning d.tenant_id, d.notification_id, d.channel, d.recipient, d.attempts, n.kind, n.severity, n.title, n.detail,
      n.subject_type, n.subject_id, n.subject_name, n.created_at`.execute(tx)
  return rows
}

/** What another replica did with the row after its claim ran out stands. */
const claimed = (tx: Tx, c: Claimed) =>
  tx
    .updateTable('notification_deliveries')
    .where('tenant_id', '=', c.tenant_id)
    .where('notification_id', '=', c.notification_id)
    .where('channel', '=', c.channel)
    .where('recipient', '=', c.recipient)
    .where('state', '=', 'pending')
    .where('attempts', '=', c.attempts)

export const finish = (tx: Tx, c: Claimed, state: 'delivered' | 'failed', error: string | null, at: Date) =>
  claimed(tx, c).set({ state, finished_at: at, next_attempt_at: null, last_error: error }).execute()

export const postpone = (tx: Tx, c: Claimed, error: string, until: Date) =>
  claimed(tx, c).set({ next_attempt_at: until, last_error: error }).execute()

export const failPendingWebhooks = (tx: Tx, tenant: TenantId, error: string, at: Date) =>
  tx
    .updateTable('notification_deliveries')
    .set({ state: 'failed', finished_at: at, next_attempt_at: null, last_error: error })
    .where('tenant_id', '=', tenant)
    .where('channel', '=', 'webhook')
    .where('state', '=', 'pending')
    .execute()
