import { sql } from 'kysely'
import { isNotHeld } from '../../../db/kept.ts'
import { purging } from '../../../db/retention.ts'

/** What usually goes a month at a time, row by row where a tenant keeps less or a hold keeps the month. */
export const pruneHistory = [
  purging(
    'vpn_sessions',
    'vpn_sessions',
    // By its start too, which has an index.
    (before) => sql`started_at < ${before} and ended_at < ${before}
      and ${isNotHeld('vpn_sessions', { user: 'user_id', device: 'device_id' })}`,
    { isByMonths: true },
  ),
  purging(
    'telemetry',
    'telemetry_events',
    (before) => sql`at < ${before} and ${isNotHeld('telemetry', { device: 'device_id' })}`,
    { isByMonths: true },
  ),
  purging('metering', 'metering_reports', (before) => sql`interval_end < ${before}`, { isByMonths: true }),
]
