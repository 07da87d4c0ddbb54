import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../db/affected-row.ts'
import type { Tx } from '../../db/database.ts'
import { purging } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

type Stored = Selectable<Tables['notifications']>
type Kind = Stored['kind']
type Severity = Stored['severity']
type NewNotification = Omit<
  Stored,
  'tenant_id' | 'acknowledged_at' | 'acknowledged_by_type' | 'acknowledged_by_id' | 'acknowledged_by_name'
>
export type Acknowledger = { type: string; id: string | null; name: string | null }

/** False if a notification of the same cause is open. Of concurrent callers exactly one gets true. */
export const insertNotification = (tx: Tx, tenant: TenantId, row: NewNotification): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('notifications')
      .values({ ...row, tenant_id: tenant })
      .onConflict((c) => c.columns(['tenant_id', 'dedupe_key']).where('acknowledged_at', 'is', null).doNothing())
      .returning('notification_id'),
  )

export const insertDeliveries = (
  tx: Tx,
  tenant: TenantId,
  notificationId: string,
  to: readonly { channel: 'email' | 'webhook'; recipient: string }[],
  at: Date,
) =>
  tx
    .insertInto('notification_deliveries')
    .values(to.map((d) => ({ ...d, tenant_id: tenant, notification_id: notificationId, next_attempt_at: at })))
    .execute()

type Filter = {
  state: 'open' | 'acknowledged' | 'all'
  kind?: Kind
  severity?: Severity
}
type DeliveryRow = {
  channel: 'email' | 'webhook'
  recipient: string
  state: 'pending' | 'delivered' | 'failed'
  attempts: number
  next_attempt_at: string | null
  finished_at: string | null
  last_error: string | null
}
export const select = (tx: Tx, tenant: TenantId, { state, kind, severity }: Filter) => {
  let q = tx
    .selectFrom('notifications')
    .selectAll()
    .select(
      sql<DeliveryRow[]>`coalesce((
        select jsonb_agg(jsonb_build_object('channel', d.channel, 'recipient', d.recipient, 'state', d.state,
          'attempts', d.attempts, 'next_attempt_at', d.next_attempt_at, 'finished_at', d.finished_at,
          'last_error', d.last_error) order by d.channel, d.recipient)
        from notification_deliveries d
        where d.tenant_id = notifications.tenant_id and d.notification_id = notifications.notification_id),
        '[]')`.as('deliveries'),
    )
    .where('tenant_id', '=', tenant)
  if (state !== 'all') q = q.where('acknowledged_at', state === 'open' ? 'is' : 'is not', null)
  if (kind) q = q.where('kind', '=', kind)
  if (severity) q = q.where('severity', '=', severity)
  return q
}
export const find = (tx: Tx, tenant: TenantId, id: string) =>
  select(tx, tenant, { state: 'all' }).where('notification_id', '=', id).executeTakeFirst()
export type NotificationRow = NonNullable<Awaited<ReturnType<typeof find>>>

/** True for exactly one of two concurrent acknowledgements. */
export const markAcknowledged = (tx: Tx, tenant: TenantId, id: string, by: Acknowledger, at: Date) =>
  affectedRow(
    tx
      .updateTable('notifications')
      .set({
        acknowledged_at: at,
        acknowledged_by_type: by.type,
        acknowledged_by_id: by.id,
        acknowledged_by_name: by.name,
      })
      .where('tenant_id', '=', tenant)
      .where('notification_id', '=', id)
      .where('acknowledged_at', 'is', null)
      .returning('notification_id'),
  )

/** Replaces the text of an open notification. False if it is not open any more. */
export const restate = (tx: Tx, tenant: TenantId, id: string, text: Pick<NewNotification, 'title' | 'detail'>) =>
  affectedRow(
    tx
      .updateTable('notifications')
      .set(text)
      .where('tenant_id', '=', tenant)
      .where('notification_id', '=', id)
      .where('acknowledged_at', 'is', null)
      .returning('notification_id'),
  )

/** Returns when a person last acknowledged a notification of a cause. */
export const closedByPersonAt = async (tx: Tx, tenant: TenantId, dedupeKey: string): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('notifications')
    .select((of) => of.fn.max('acknowledged_at').as('at'))
    .where('tenant_id', '=', tenant)
    .where('dedupe_key', '=', dedupeKey)
    .where('acknowledged_by_type', '<>', 'system')
    .executeTakeFirst()
  return row?.at ?? undefined
}

/** Returns those of the causes that ever had a notification. */
export const knownCauses = async (tx: Tx, tenant: TenantId, keys: readonly string[]): Promise<Set<string>> => {
  const rows = await tx
    .selectFrom('notifications')
    .select('dedupe_key')
    .distinct()
    .where('tenant_id', '=', tenant)
    .where('dedupe_key', '=', sql<string>`any(${keys}::text[])`)
    .execute()
  return new Set(rows.flatMap((r) => r.dedupe_key ?? []))
}

/** Across tenants: tenants with an open notification of a kind. */
export const tenantsWithOpen = async (tx: Tx, kind: Kind): Promise<TenantId[]> => {
  const rows = await tx
    .selectFrom('notifications')
    .select('tenant_id')
    .distinct()
    .where('kind', '=', kind)
    .where('acknowledged_at', 'is', null)
    .execute()
  return rows.map((r) => r.tenant_id)
}

/** At most one exists: no second one of the same cause is made. */
export const openOf = (tx: Tx, tenant: TenantId, dedupeKey: string) =>
  tx
    .selectFrom('notifications')
    .select(['notification_id', 'title'])
    .where('tenant_id', '=', tenant)
    .where('dedupe_key', '=', dedupeKey)
    .where('acknowledged_at', 'is', null)
    .executeTakeFirst()

export const openOfKind = (tx: Tx, tenant: TenantId, kind: Kind) =>
  tx
    .selectFrom('notifications')
    .select(['notification_id', 'dedupe_key', 'title', 'subject_type', 'subject_id', 'subject_name'])
    .where('tenant_id', '=', tenant)
    .where('kind', '=', kind)
    .where('acknowledged_at', 'is', null)
    .execute()

/** Counts open notifications by severity, each up to `most`. */
export const countOpenNotifications = async (
  tx: Tx,
  tenant: TenantId,
  most: number,
): Promise<Record<Severity, number>> => {
  const { rows } = await sql<{ severity: Severity; n: number }>`
    select s.severity, (select count(*) from (
        select from notifications n
        where n.tenant_id = ${tenant} and n.severity = s.severity and n.acknowledged_at is null limit ${most}) as open) as n
    from (values ('info'), ('warning'), ('critical')) as s (severity)`.execute(tx)
  return { info: 0, warning: 0, critical: 0, ...Object.fromEntries(rows.map((r) => [r.severity, r.n])) }
}

/** Purges acknowledged notifications. Their deliveries are deleted with them. */
export const pruneNotifications = purging(
  'notifications',
  'notifications',
  (before) => sql`acknowledged_at < ${before}`,
)
