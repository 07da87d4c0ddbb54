import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { purging } from '../../db/retention.ts'
import type { TenantId } from '../../kernel/actor.ts'

type Span = { from: Date; to: Date; step: 'hour' | 'day' }
type EventCounts = { at: Date; enrollments: number; logins_failed: number; refused: number }

/** Number of events of each charted kind, by step. Steps without events are left out. */
export const countsBetween = async (tx: Tx, tenant: TenantId, { from, to, step }: Span): Promise<EventCounts[]> => {
  const { rows } = await sql<EventCounts>`
    select date_trunc(${step}, hour, 'utc') as at,
      coalesce(sum(events) filter (where kind = 'device.enrolled' and outcome = 'success'), 0) as enrollments,
      coalesce(sum(events) filter (where kind = 'login.failed'), 0) as logins_failed,
      coalesce(sum(events) filter (where outcome = 'refused'), 0) as refused
    from audit_counts where tenant_id = ${tenant} and hour >= ${from} and hour < ${to}
    group by 1 order by 1`.execute(tx)
  return rows
}

/** Kept as long as the other charted data. */
export const pruneCounts = purging('metering', 'audit_counts', (before) => sql`hour < ${before}`)
