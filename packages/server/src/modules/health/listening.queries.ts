import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { second } from '../../kernel/time.ts'

/** A sweep a minute says that somebody listens: one that is missing is a break, and so is a clock that leapt. */
const breakMs = 90 * second

/** Somebody listens now; since when without a break. The clock is looked at once the row is held. */
export const listen = async (tx: Tx): Promise<Date> => {
  const { rows } = await sql<{ since: Date }>`
    insert into listening as l (since, heard_at) values (clock_timestamp(), clock_timestamp())
    on conflict (there_is_one) do update set heard_at = clock_timestamp(),
      since = case when abs(extract(epoch from clock_timestamp() - l.heard_at)) * 1000 < ${breakMs} then l.since
        else clock_timestamp() end
    returning since`.execute(tx)
  return rows[0]!.since
}
