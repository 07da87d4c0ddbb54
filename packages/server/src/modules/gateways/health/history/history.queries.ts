import { sql } from 'kysely'
import type { Tx } from '../../../../db/database.ts'
import { purgeTime } from '../../../../db/kept.ts'
import { deleting } from '../../../../db/retention.ts'
import type { GatewayState } from '../../../../db/tables/gateways.ts'
import type { TenantId } from '../../../../kernel/actor.ts'

type Standing = {
  tenant_id: TenantId
  gateway_id: string
  draining: boolean
  drain_reason: string | null
  drained_at: Date | null
  public_key: string | null
  proposed_key: string | null
  created_at: Date
  last_seen_at: Date | null
  silent_from: Date | null
  heard_again_at: Date | null
  state: GatewayState | null
  since: Date | null
}

/**
 * Selects across tenants the gateways whose recorded state may be outdated. Gateways that keep reporting, or stay
 * silent, are left out.
 */
export const mayHaveMoved = async (
  tx: Tx,
  at: Date,
  { degradedAfterMs, downAfterMs }: { degradedAfterMs: number; downAfterMs: number },
): Promise<Standing[]> => {
  const secondsAgo = (ms: number) => sql`${at}::timestamptz - make_interval(secs => ${ms / 1000})`
  const isPending = sql`(g.public_key is null and g.proposed_key is not null)`
  const { rows } = await sql<Standing>`
    select g.tenant_id, g.gateway_id, g.draining, g.drain_reason, g.drained_at, g.public_key, g.proposed_key, g.created_at,
      a.last_seen_at, a.silent_from, a.heard_again_at, s.state, s.since
    from gateways g
    left join gateway_activity a on a.tenant_id = g.tenant_id and a.gateway_id = g.gateway_id
    left join gateway_states s on s.tenant_id = g.tenant_id and s.gateway_id = g.gateway_id
    where g.deleted_at is null and (case
      when s.state is null then true
      when g.draining then s.state <> 'draining'
      when ${isPending} then s.state <> 'pending'
      when a.last_seen_at is null then s.state <> 'never_seen'
      when a.heard_again_at > s.since then true
      when s.state = 'healthy' then a.last_seen_at <= ${secondsAgo(degradedAfterMs)}
      when s.state = 'down' then a.last_seen_at > ${secondsAgo(downAfterMs)}
      else true end)
    order by g.tenant_id, g.gateway_id`.execute(tx)
  return rows
}

/** Returns the recorded states of these gateways and locks their rows until commit. */
export const lockStates = async (tx: Tx, tenant: TenantId, gatewayIds: readonly string[]) => {
  const { rows } = await sql<{ gateway_id: string; state: GatewayState; since: Date }>`
    select gateway_id, state, since from gateway_states
    where tenant_id = ${tenant} and gateway_id = any(${gatewayIds}::uuid[]) order by gateway_id for update`.execute(tx)
  return rows
}

type Transition = { atMs: number; before: GatewayState | null; state: GatewayState }
type Move = { gatewayId: string; state: GatewayState; since: Date }
/** Inserts states of gateways that have none. Returns the ids of the inserted ones. */
export const insertStates = async (tx: Tx, tenant: TenantId, moves: readonly Move[]): Promise<string[]> => {
  const { rows } = await sql<{ gateway_id: string }>`
    insert into gateway_states (tenant_id, gateway_id, state, since)
    select ${tenant}::uuid, * from unnest(${moves.map((m) => m.gatewayId)}::uuid[], ${moves.map((m) => m.state)}::text[],
      ${moves.map((m) => m.since)}::timestamptz[])
    order by 2
    on conflict (tenant_id, gateway_id) do nothing
    returning gateway_id`.execute(tx)
  return rows.map((r) => r.gateway_id)
}

/** Updates states of gateways whose rows are locked. */
export const updateStates = (tx: Tx, tenant: TenantId, moves: readonly Move[]) =>
  sql`
    update gateway_states s set state = m.state, since = m.since
    from unnest(${moves.map((m) => m.gatewayId)}::uuid[], ${moves.map((m) => m.state)}::text[],
      ${moves.map((m) => m.since)}::timestamptz[]) as m (gateway_id, state, since)
    where s.tenant_id = ${tenant} and s.gateway_id = m.gateway_id`.execute(tx)

export const insertTransitions = (
  tx: Tx,
  tenant: TenantId,
  transitions: readonly (Transition & { gatewayId: string })[],
) =>
  sql`
    insert into gateway_state_changes (tenant_id, gateway_id, at, previous_state, state)
    select ${tenant}::uuid, * from unnest(${transitions.map((t) => t.gatewayId)}::uuid[],
      ${transitions.map((t) => new Date(t.atMs))}::timestamptz[], ${transitions.map((t) => t.before)}::text[],
      ${transitions.map((t) => t.state)}::text[])
    order by 2, 3`.execute(tx)

export type HistoryWindow = { from: Date; to: Date; stepSeconds: number }

/** Sums the seconds that each of these gateways spent in each state, by step. */
export const timeInStates = async (
  tx: Tx,
  tenant: TenantId,
  gatewayIds: readonly string[],
  { from, to, stepSeconds }: HistoryWindow,
) => {
  const step = sql`make_interval(secs => ${stepSeconds})`
  const { rows } = await sql<{ gateway_id: string; at: Date; state: GatewayState; seconds: number }>`
    with inside as (
      select gateway_id, at, state, previous_state, row_number() over (partition by gateway_id order by at) as n
      from gateway_state_changes where tenant_id = ${tenant} and gateway_id = any(${gatewayIds}::uuid[])
        and at > ${from} and at < ${to}),
    begun as (
      select gateway_id, state from gateway_states
      where tenant_id = ${tenant} and gateway_id = any(${gatewayIds}::uuid[]) and since <= ${from}),
    known as (
      select gateway_id, ${from}::timestamptz as at, state from begun
      union all select gateway_id, ${from}::timestamptz, previous_state from inside where n = 1
      union all select gateway_id, at, state from inside),
    spans as (
      select gateway_id, state, at as begins,
        coalesce(lead(at) over (partition by gateway_id order by at), ${to}::timestamptz) as ends
      from known)
    select gateway_id, step as at, state,
      sum(extract(epoch from least(ends, step + ${step}) - greatest(begins, step)))::float8 as seconds
    from spans cross join lateral generate_series(date_bin(${step}, begins, ${from}), ends, ${step}) as step
    where state is not null and step < ends
    group by 1, 2, 3`.execute(tx)
  return rows
}

export const countTransitions = async (tx: Tx, tenant: TenantId, gatewayId: string, { from, to }: HistoryWindow) => {
  const { rows } = await sql<{ changes: number }>`
    select count(*) as changes from gateway_state_changes
    where tenant_id = ${tenant} and gateway_id = ${gatewayId} and at > ${from} and at < ${to}
      and previous_state is not null`.execute(tx)
  return rows[0]?.changes ?? 0
}

/** Returns the maximum of concurrent sessions of a gateway by step. Steps without a report are missing. */
export const sessionPeaks = async (
  tx: Tx,
  tenant: TenantId,
  gatewayId: string,
  { from, to, stepSeconds }: HistoryWindow,
): Promise<Map<number, number>> => {
  const { rows } = await sql<{ at: Date; sessions: number }>`
    select date_bin(make_interval(secs => ${stepSeconds}), hour, ${from}) as at, max(sessions_most) as sessions
    from gateway_hours where tenant_id = ${tenant} and gateway_id = ${gatewayId} and hour >= ${from} and hour < ${to}
    group by 1`.execute(tx)
  return new Map(rows.map((r) => [r.at.getTime(), r.sessions]))
}

/** Retention: two days longer than the longest range that is shown. */
const oldestKept = sql`${purgeTime} - interval '32 days'`
export const pruneGatewayHistory = [
  deleting('gateway_state_changes', sql`at < ${oldestKept}`),
  deleting('gateway_hours', sql`hour < ${oldestKept}`),
]
