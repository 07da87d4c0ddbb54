import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'

type Standing = {
  states: { disabled: number; active: number; retrying: number; parked: number }
  lag_events: number
  lag_seconds: number
  dead: number
  lost: number
}

/**
 * Across tenants: state of the delivery of all connectors. The backlog is looked up by sequence number, once for each
 * enabled connector.
 */
export async function forwardingState(tx: Tx): Promise<Standing> {
  const { rows } = await sql<Standing['states'] & Omit<Standing, 'states'>>`
    select count(*) filter (where s.state = 'stopped') as disabled, count(*) filter (where s.state = 'parked') as parked,
      count(*) filter (where s.state = 'flowing' and s.failures = 0) as active,
      count(*) filter (where s.state = 'flowing' and s.failures > 0) as retrying,
      coalesce(max(h.seq - s.after_seq) filter (where s.state <> 'stopped'), 0) as lag_events,
      greatest(0, coalesce(max(extract(epoch from clock_timestamp() - next.sequenced_at)), 0))::float8 as lag_seconds,
      coalesce(sum(s.dead), 0) as dead, coalesce(sum(s.lost), 0) as lost
    from siem_streams s
    join tenants t on t.tenant_id = s.tenant_id and t.status <> 'deleted'
    left join audit_heads h on h.tenant_id = s.tenant_id
    left join lateral (
      select l.sequenced_at from audit_log l
      where l.tenant_id = s.tenant_id and l.seq > s.after_seq and h.seq > s.after_seq and s.state <> 'stopped'
      order by l.seq limit 1
    ) as next on true
    where s.from_at is null`.execute(tx)
  const { disabled = 0, active = 0, retrying = 0, parked = 0, ...rest } = rows[0] ?? none
  return { states: { disabled, active, retrying, parked }, ...rest }
}

const none = { disabled: 0, active: 0, retrying: 0, parked: 0, lag_events: 0, lag_seconds: 0, dead: 0, lost: 0 }
