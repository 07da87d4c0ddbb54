import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { second } from '../../kernel/time.ts'

/** Each replica writes its own row, so that replicas never wait for each other. */
export const markSeen = (tx: Tx, replica: string) =>
  sql`insert into replicas (replica_id, seen_at) values (${replica}, clock_timestamp())
    on conflict (replica_id) do update set seen_at = excluded.seen_at`.execute(tx)

export const forgetSilent = (tx: Tx) =>
  sql`delete from replicas where seen_at < clock_timestamp() - interval '1 day'`.execute(tx)

/**
 * Each sweep, once a minute, records that the deployment listens. A missing sweep interrupts that, and so does a clock
 * that jumps.
 */
const breakMs = 90 * second

/**
 * Records that the deployment listens now, and returns since when it has listened without interruption. The statement
 * reads the clock after it has locked the row.
 */
export const listen = async (tx: Tx): Promise<Date> => {
  const { rows } = await sql<{ since: Date }>`
    insert into listening as l (since, heard_at) values (clock_timestamp(), clock_timestamp())
    on conflict (there_is_one) do update set heard_at = clock_timestamp(),
      since = case when abs(extract(epoch from clock_timestamp() - l.heard_at)) * 1000 < ${breakMs} then l.since
        else clock_timestamp() end
    returning since`.execute(tx)
  return rows[0]!.since
}
