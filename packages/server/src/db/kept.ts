import type { RetentionClass } from '@holdfast/contract/vocabulary'
import { type RawBuilder, sql } from 'kysely'
import { withConnection } from './connection.ts'
import type { Tx } from './database.ts'

/** For how many days the deployment keeps a class, where it says so; null is for good. */
type KeptDays = Readonly<
  Record<Extract<RetentionClass, 'vpn_sessions' | 'telemetry' | 'metering' | 'revoked_devices'>, number> &
    Record<'audit', number | null>
>

/** At each start, as the owner of the tables: whoever purges reads it and can't change it. What is shorter settles. */
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

/** The time, for what goes after a period that nobody sets; null while it is not trusted. Asked once a statement. */
export const purgeTime: RawBuilder<Date> = sql`(select time_to_purge())`
/** No legal hold keeps all classes: then what tells of somebody and has no class stays too. */
export const isNotAllHeld: RawBuilder<boolean> = sql`not (select is_all_held())`

/** The moment before which what the tenant has of the class may go; null while nothing may. Asked once a statement. */
export const overBefore = (name: RetentionClass): RawBuilder<Date> => sql`(select over_before(${sql.lit(name)}))`
/** The same of what lies by months, where rows have to go before their month does. */
export const thinBefore = (name: RetentionClass): RawBuilder<Date> => sql`(select thin_before(${sql.lit(name)}))`

/** Rows of which no hold says that they stay: a hold on the user or device in these columns keeps what is theirs. */
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

/** Comes first in a transaction that purges: until it ends no hold is placed. */
export const admitPurge = (tx: Tx) => sql`select admit_purge()`.execute(tx)

/** The moment before which what the tenant has of the class may go in this transaction; null where nothing may. */
export async function judgePurge(
  tx: Tx,
  { class: name, isByMonths }: { class: RetentionClass; isByMonths: boolean },
): Promise<Date | null> {
  const before = isByMonths ? thinBefore(name) : overBefore(name)
  const { rows } = await sql<{ before: Date | null }>`select ${before} as before`.execute(tx)
  return rows[0]?.before ?? null
}

/** In the transaction that took the rows, by what it judged before. */
export const notePurge = (tx: Tx, tenant: string, name: RetentionClass, { upTo, rows }: { upTo: Date; rows: number }) =>
  sql`
    insert into retention_purges (tenant_id, class, purged_at, up_to, unrecorded)
    values (${tenant}, ${name}, clock_timestamp(), ${upTo}, ${rows})
    on conflict (tenant_id, class) do update set purged_at = excluded.purged_at,
      up_to = greatest(retention_purges.up_to, excluded.up_to),
      unrecorded = retention_purges.unrecorded + excluded.unrecorded`.execute(tx)
