import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { purging } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type Metered = { gatewayId: string; hour: Date; rxBytes: number; txBytes: number; sessions: number }
const most = Number.MAX_SAFE_INTEGER
/** Adds to the hour of one gateway. The caller holds the lock of the gateway's row. */
export const addTraffic = (tx: Tx, tenant: TenantId, m: Metered) =>
  sql`
    insert into usage_traffic as u (tenant_id, hour, gateway_id, rx_bytes, tx_bytes, sessions)
    values (${tenant}, ${m.hour}, ${m.gatewayId}, ${m.rxBytes}, ${m.txBytes}, ${m.sessions})
    on conflict (tenant_id, hour, gateway_id) do update set
      rx_bytes = least(u.rx_bytes + excluded.rx_bytes, ${most}), tx_bytes = least(u.tx_bytes + excluded.tx_bytes, ${most}),
      sessions = u.sessions + excluded.sessions`.execute(tx)

type Step = 'hour' | 'day'
type Span = { from: Date; to: Date; step: Step }

/** Returns bytes and new sessions of all gateways by step. Steps without any are left out. */
export const trafficBetween = async (tx: Tx, tenant: TenantId, { from, to, step }: Span) => {
  const { rows } = await sql<{ at: Date; rx_bytes: number; tx_bytes: number; sessions: number }>`
    select date_trunc(${step}, hour, 'utc') as at, sum(rx_bytes::numeric) as rx_bytes, sum(tx_bytes::numeric) as tx_bytes,
      sum(sessions) as sessions
    from usage_traffic where tenant_id = ${tenant} and hour >= ${from} and hour < ${to}
    group by 1 order by 1`.execute(tx)
  return rows
}

/** Returns the peak of each metric within each step in which it changed, and its value at the end of that step. */
export const levelsBetween = async (tx: Tx, tenant: TenantId, { from, to, step }: Span) => {
  const { rows } = await sql<{ metric: string; at: Date; peak: number; used: number }>`
    select metric, date_trunc(${step}, hour, 'utc') as at, max(peak) as peak, (array_agg(used order by hour desc))[1] as used
    from usage_levels where tenant_id = ${tenant} and hour >= ${from} and hour < ${to}
    group by 1, 2 order by 2`.execute(tx)
  return rows
}
/** Returns the value of each metric before a time. */
export const levelsBefore = async (tx: Tx, tenant: TenantId, before: Date): Promise<Map<string, number>> => {
  const { rows } = await sql<{ metric: string; used: number }>`
    select distinct on (metric) metric, used from usage_levels
    where tenant_id = ${tenant} and hour < ${before} order by metric, hour desc`.execute(tx)
  return new Map(rows.map((r) => [r.metric, r.used]))
}

/**
 * Billing data follows the retention of the deployment, whatever a tenant sets for metering, and is never deleted
 * within a month.
 */
const isOver = (before: RawBuilder<Date>) => sql`hour < ${before} and hour < (select usage_begins(now()))`

/** Of the levels, the newest one of each metric is kept, because it may not have changed since. */
export const pruneUsage = [
  purging('metering', 'usage_traffic', isOver),
  purging(
    'metering',
    'usage_levels',
    (before) => sql`${isOver(before)} and exists (select from usage_levels l
      where l.tenant_id = usage_levels.tenant_id and l.metric = usage_levels.metric and l.hour > usage_levels.hour)`,
  ),
]
