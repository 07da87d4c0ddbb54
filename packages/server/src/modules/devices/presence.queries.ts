import { onlineSeconds } from '@holdfast/contract/devices'
import { sql } from 'kysely'
import { second } from '../../kernel/time.ts'

export type Presence = 'online' | 'offline' | 'never'

/** A device that was seen then or later is online. */
export const onlineSince = (at: Date) => new Date(at.getTime() - onlineSeconds * second)

/** Of `activity` and `session`, as `selectDevices` joins them. */
export const presenceOf = (at: Date) => sql<Presence>`case
  when session.session_id is not null or activity.last_seen_at >= ${onlineSince(at)} then 'online'
  when activity.last_seen_at is null then 'never' else 'offline' end`

/** `device_activity.seen_key` of a time: rows that were seen then or later have this key or a later one. */
export const seenKey = (at: Date) => sql`date_bin('5 minutes', ${at}::timestamptz, to_timestamp(0))`
