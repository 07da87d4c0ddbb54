import { sql } from 'kysely'
import type { Presence } from '../../db/tables/index.ts'

/** For the joins `activity` and `session` of `selectDevices`. */
export const presenceOf = (onlineSince: Date) => sql<Presence>`case
  when session.session_id is not null or activity.last_seen_at >= ${onlineSince} then 'online'
  when activity.last_seen_at is null then 'never' else 'offline' end`

/** `device_activity.seen_key` for a time: rows last seen at that time or later have this key or a greater one. */
export const seenKey = (at: Date) => sql`date_bin('5 minutes', ${at}::timestamptz, to_timestamp(0))`
