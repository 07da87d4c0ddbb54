import type { RetentionClass } from '@holdfast/contract/vocabulary'
import { type RawBuilder, sql } from 'kysely'
import { withConnection } from './connection.ts'
import type { Tx } from './database.ts'

/** Retention of classes in days, set by the deployment. Null means forever. */
type KeptDays = Readonly<
  Record<Extract<RetentionClass, 'vpn_sessions' | 'telemetry' | 'metering' | 'revoked_devices'>, number> &
    Record<'audit', number | null>
>

/**
 * Runs at each start as the owner of the tables; the role that purges can't change the values. A shorter period takes
 * effect after one day.
 */
export const configureKept = (url: string, days: KeptDays): Promise<void> =>
  withConnection(url, async (connection) => {
    for (const [name, kept] of Object.entries(days))
      await connection.ask(
        `update retention_periods set days = $2::integer, most = $2::integer,
           settles_at = case when $2 < coalesce(days, 2147483647) then now() + interval '1 day' else settles_at end
         where class = $1 and days is distinct from $2`,
        [name, kept],
      )
  })

/** SQL of the current time for fixed periods; null while the clock is not trusted. Evaluated once per statement. */
export const purgeTime: RawBuilder<Date> = sql`(select time_to_purge())`
/** SQL condition: no legal hold covers all classes. Such a hold also keeps personal data without a class. */
export const isNotAllHeld: RawBuilder<boolean> = sql`not (select is_all_held())`

/** SQL of the time before which data of the class may be deleted; null if none may be. Evaluated once per statement. */
export const overBefore = (name: RetentionClass): RawBuilder<Date> => sql`(select over_before(${sql.lit(name)}))`
/** The same for tables partitioned by month, where single rows must be deleted before their month is dropped. */
export const thinBefore = (name: RetentionClass): RawBuilder<Date> => sql`(select thin_before(${sql.lit(name)}))`

/** SQL condition: no legal hold keeps the row. A hold on the user or device in these columns keeps their rows. */
export const isNotHeld = (name: RetentionClass, columns: { user?: string; device?: string }): RawBuilder<boolean> => {
  const { user, device } = columns
  const ofUser = user && sql`(${sql.ref(user)} = any ((select held_users(${sql.lit(name)}))::uuid[])) is not true`
  const ofDevice =
    device && sql`(${sql.ref(device)} = any ((select held_devices(${sql.lit(name)}))::uuid[])) is not true`
  return sql`${sql.join(
    [ofUser, ofDevice].filter((c) => typeof c === 'object'),
    sql` and `,
  )}`
}

/** Must come first in a transaction that purges. Until its end no legal hold can be placed. */
export const admitPurge = (tx: Tx) => sql`select admit_purge()`.execute(tx)

/** Returns the time before which data of the class may be deleted in this transaction; null if none may be. */
export async function judgePurge(
  tx: Tx,
  { class: name, isByMonths }: { class: RetentionClass; isByMonths: boolean },
): Promise<Date | null> {
  const before = isByMonths ? thinBefore(name) : overBefore(name)
  const { rows } = await sql<{ before: Date | null }>`select ${before} as before`.execute(tx)
  return rows[0]?.before ?? null
}

/** Runs in the transaction that deleted the rows, with the time that was read before the deletion. */
export const notePurge = (tx: Tx, tenant: string, name: RetentionClass, { upTo, rows }: { upTo: Date; rows: number }) =>
  sql`
    insert into retention_purges (tenant_id, class, purged_at, up_to, unrecorded)
    values (${tenant}, ${name}, clock_timestamp(), ${upTo}, ${rows})
    on conflict (tenant_id, class) do update set purged_at = excluded.purged_at,
      up_to = greatest(retention_purges.up_to, excluded.up_to),
      unrecorded = retention_purges.unrecorded + excluded.unrecorded`.execute(tx)
