import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { deleting } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** A device's report of its connection to a gateway. */
export type ConnectionClaim = {
  tenantId: TenantId
  deviceId: string
  gatewayId: string | null
  sessionId: string | null
  state: 'connected' | 'disconnected'
  at: Date
  policyDigest: string | null
  latencyMs: number | null
  reason: string | null
}

const unnested = (claims: readonly ConnectionClaim[]) => {
  const column = <T>(of: (c: ConnectionClaim) => T) => claims.map(of)
  return sql`unnest(${column((c) => c.tenantId)}::uuid[], ${column((c) => c.deviceId)}::uuid[],
      ${column((c) => c.gatewayId)}::uuid[], ${column((c) => c.sessionId)}::uuid[], ${column((c) => c.state)}::text[],
      ${column((c) => c.at)}::timestamptz[], ${column((c) => c.policyDigest)}::text[],
      ${column((c) => c.latencyMs)}::float8[], ${column((c) => c.reason)}::text[])`
}

/** Stores claims of any tenants in one statement, one for each connection. The newest report wins. */
export const upsertClaims = (tx: Tx, claims: readonly ConnectionClaim[]) =>
  sql`
    insert into device_claims as c (tenant_id, device_id, gateway_id, session_id, state, said_at, policy_digest, latency_ms,
      reason, since)
    select n.*, n.said_at from ${unnested(claims)} as n (tenant_id, device_id, gateway_id, session_id, state, said_at,
      policy_digest, latency_ms, reason)
    order by 1, 2, 3
    on conflict (tenant_id, device_id, gateway_id) do update set session_id = excluded.session_id,
      state = excluded.state, said_at = excluded.said_at, reason = excluded.reason,
      policy_digest = coalesce(excluded.policy_digest, c.policy_digest),
      latency_ms = coalesce(excluded.latency_ms, c.latency_ms),
      since = case when c.state = excluded.state and c.session_id is not distinct from excluded.session_id
        then c.since else excluded.said_at end
    where c.said_at <= excluded.said_at`.execute(tx)

/** Returns claims that contradict all gateways: connected without such a session, or disconnected with one. */
export const unconfirmed = async (tx: Tx, claims: readonly ConnectionClaim[]) => {
  const { rows } = await sql<{ tenant_id: TenantId; device_id: string; gateway_id: string | null }>`
    select c.tenant_id, c.device_id, c.gateway_id
    from ${unnested(claims)} as c (tenant_id, device_id, gateway_id, session_id, state, at)
    where (c.state = 'connected') <> exists (
      select from vpn_sessions v
      where v.tenant_id = c.tenant_id and v.device_id = c.device_id and v.gateway_id = c.gateway_id
        and v.state = 'active' and v.ended_at is null and v.session_id = coalesce(c.session_id, v.session_id))`.execute(
    tx,
  )
  return rows
}

/** Returns those of these devices that last reported to be disconnected from this gateway. */
export const disconnectedFrom = async (tx: Tx, tenant: TenantId, gatewayId: string, deviceIds: readonly string[]) => {
  const rows = await tx
    .selectFrom('device_claims')
    .select('device_id')
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', sql<string>`any(${deviceIds}::uuid[])`)
    .where('gateway_id', '=', gatewayId)
    .where('state', '=', 'disconnected')
    .execute()
  return rows.map((r) => r.device_id)
}

/** A report that is a week old says nothing about the present. */
export const pruneClaims = deleting('device_claims', sql`said_at < ${purgeTime} - interval '7 days'`)
