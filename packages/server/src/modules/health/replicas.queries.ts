import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'

/** Each replica writes its own row, so that replicas never wait for each other. */
export const markSeen = (tx: Tx, replica: string) =>
  sql`insert into replicas (replica_id, seen_at) values (${replica}, clock_timestamp())
    on conflict (replica_id) do update set seen_at = excluded.seen_at`.execute(tx)

export const forgetSilent = (tx: Tx) =>
  sql`delete from replicas where seen_at < clock_timestamp() - interval '1 day'`.execute(tx)
