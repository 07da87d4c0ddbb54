import type { RetentionClass } from '@holdfast/contract/vocabulary'
import { type RawBuilder, sql } from 'kysely'
import type { Tx } from './database.ts'

/** For how many days a class of data is kept where the tenant set nothing, and at most; null is for good. */
export type Kept = {
  class: RetentionClass
  usual: number | null
  most: number | null
  /** Whether a setting of the deployment says so. */
  source: 'deployment' | 'default'
}

/** A tenant may keep it for less than the deployment does, not for longer. */
export const keptByDeployment = (name: RetentionClass, days: number | null): Kept => ({
  class: name,
  usual: days,
  most: days,
  source: days === null ? 'default' : 'deployment',
})
const keptByDefault = (name: RetentionClass, usual: number): Kept => ({
  class: name,
  usual,
  most: null,
  source: 'default',
})
/** What the deployment has no setting for. */
export const keptSessions = keptByDefault('admin_sessions', 30)
export const keptNotifications = keptByDefault('notifications', 180)
export const keptPolicies = keptByDefault('policy', 30)
export const keptTokens = keptByDefault('enrollment_tokens', 90)

const termsOf = ({ class: name, usual, most }: Kept) =>
  sql`${sql.lit(name)}, ${sql.lit(usual)}::integer, ${sql.lit(most)}::integer`
/** The moment before which what the tenant has of the class may go; null while nothing may. Asked once a statement. */
export const overBefore = (kept: Kept): RawBuilder<Date> => sql`(select over_before(${termsOf(kept)}))`
/** The same of what lies by months, where rows have to go before their month does. */
export const thinBefore = ({ class: name, usual }: Kept): RawBuilder<Date> =>
  sql`(select thin_before(${sql.lit(name)}, ${sql.lit(usual)}::integer))`

/** Rows of which no hold says that they stay: a hold on the user or device in these columns keeps what is theirs. */
export const isNotHeld = ({ class: name }: Kept, columns: { user?: string; device?: string }): RawBuilder<boolean> => {
  const conditions = [
    columns.user && sql`(${sql.ref(columns.user)} = any ((select held_users(${sql.lit(name)}))::uuid[])) is not true`,
    columns.device &&
      sql`(${sql.ref(columns.device)} = any ((select held_devices(${sql.lit(name)}))::uuid[])) is not true`,
  ].filter((c) => typeof c === 'object')
  return sql`${sql.join(conditions, sql` and `)}`
}

/** Comes first in a transaction that purges: until it ends no hold is placed. */
export const admitPurge = (tx: Tx) => sql`select admit_purge()`.execute(tx)

/** In the transaction that took the rows. */
export const notePurge = (tx: Tx, tenant: string, kept: Kept, rows: number) =>
  sql`
    insert into retention_purges (tenant_id, class, purged_at, up_to, unrecorded)
    values (${tenant}, ${kept.class}, clock_timestamp(), coalesce(${overBefore(kept)}, now()), ${rows})
    on conflict (tenant_id, class) do update set purged_at = excluded.purged_at, up_to = excluded.up_to,
      unrecorded = retention_purges.unrecorded + excluded.unrecorded`.execute(tx)

/** What the deployment is set to keep, in days, by what it calls it. */
type KeptDays = {
  audit: number | null
  vpn_sessions: number
  telemetry_events: number
  metering_reports: number
  revoked_devices: number
}
export const keptOf = (days: KeptDays) =>
  ({
    audit: keptByDeployment('audit', days.audit),
    vpn_sessions: keptByDeployment('vpn_sessions', days.vpn_sessions),
    telemetry: keptByDeployment('telemetry', days.telemetry_events),
    metering: keptByDeployment('metering', days.metering_reports),
    admin_sessions: keptSessions,
    notifications: keptNotifications,
    policy: keptPolicies,
    enrollment_tokens: keptTokens,
    revoked_devices: keptByDeployment('revoked_devices', days.revoked_devices),
  }) satisfies Record<RetentionClass, Kept>
export type KeptOf = ReturnType<typeof keptOf>
