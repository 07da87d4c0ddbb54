import { sql } from 'kysely'
import { isNotHeld } from '../../../db/kept.ts'
import { purging } from '../../../db/retention.ts'

/** Row-wise deletes, for tenants with a shorter retention or a legal hold. Otherwise whole months are dropped. */
export const pruneHistory = [
  purging(
    'vpn_sessions',
    'vpn_sessions',
    // Also compares the start, which has an index.
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
