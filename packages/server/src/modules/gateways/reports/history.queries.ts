import { sql } from 'kysely'
import { isNotHeld, type KeptOf, thinBefore } from '../../../db/kept.ts'
import { deleting, type Prune } from '../../../db/retention.ts'

/** What usually goes a month at a time, row by row where a tenant keeps less or a hold keeps the month. */
export const pruneHistory = ({ vpn_sessions, telemetry, metering }: KeptOf): Prune[] => [
  deleting(
    'vpn_sessions',
    // By its start too, which has an index.
    sql`started_at < ${thinBefore(vpn_sessions)} and ended_at < ${thinBefore(vpn_sessions)}
      and ${isNotHeld(vpn_sessions, { user: 'user_id', device: 'device_id' })}`,
    vpn_sessions,
  ),
  deleting(
    'telemetry_events',
    sql`at < ${thinBefore(telemetry)} and ${isNotHeld(telemetry, { device: 'device_id' })}`,
    telemetry,
  ),
  deleting('metering_reports', sql`interval_end < ${thinBefore(metering)}`, metering),
]
