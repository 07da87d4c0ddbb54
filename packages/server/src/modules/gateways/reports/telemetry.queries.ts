import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type TelemetryEvent = {
  tenantId: TenantId
  deviceId: string
  eventId: string
  at: Date
  kind: string
  sessionId: string | null
  gatewayId: string | null
  latencyMs: number | null
  lossPercent: number | null
  reason: string | null
  policyDigest: string | null
}

type OfSession = Pick<TelemetryEvent, 'tenantId' | 'deviceId' | 'sessionId'>
/** Returns those of these sessions that belong to these devices, with their gateways. */
export const ownSessions = async (tx: Tx, events: readonly OfSession[]) => {
  const column = <T>(of: (e: OfSession) => T) => events.map(of)
  const { rows } = await sql<{ device_id: string; session_id: string; gateway_id: string; end_reason: string | null }>`
    select v.device_id, v.session_id, v.gateway_id, v.end_reason
    from unnest(${column((e) => e.tenantId)}::uuid[], ${column((e) => e.deviceId)}::uuid[],
      ${column((e) => e.sessionId)}::uuid[]) as e (tenant_id, device_id, session_id)
    join vpn_sessions v on v.tenant_id = e.tenant_id and v.session_id = e.session_id and v.device_id = e.device_id`.execute(
    tx,
  )
  return rows
}

/** Returns those of these events that are stored already. */
export const knownEvents = async (tx: Tx, events: readonly TelemetryEvent[]) => {
  const column = <T>(of: (e: TelemetryEvent) => T) => events.map(of)
  const { rows } = await sql<{ device_id: string; event_id: string }>`
    select t.device_id, t.event_id
    from unnest(${column((e) => e.tenantId)}::uuid[], ${column((e) => e.deviceId)}::uuid[],
      ${column((e) => e.eventId)}::text[]) as e (tenant_id, device_id, event_id)
    join telemetry_events t on t.tenant_id = e.tenant_id and t.device_id = e.device_id and t.event_id = e.event_id`.execute(
    tx,
  )
  return rows
}

/** Inserts events of any tenants in one statement. Returns the inserted ones. */
export const insertEvents = async (tx: Tx, events: readonly TelemetryEvent[]) => {
  const column = <T>(of: (e: TelemetryEvent) => T) => events.map(of)
  const { rows } = await sql<{ device_id: string; event_id: string }>`
    insert into telemetry_events (tenant_id, at, device_id, event_id, session_id, kind, gateway_id, latency_ms, loss_percent,
      reason, policy_digest)
    select * from unnest(${column((e) => e.tenantId)}::uuid[], ${column((e) => e.at)}::timestamptz[],
      ${column((e) => e.deviceId)}::uuid[], ${column((e) => e.eventId)}::text[], ${column((e) => e.sessionId)}::uuid[],
      ${column((e) => e.kind)}::text[], ${column((e) => e.gatewayId)}::uuid[], ${column((e) => e.latencyMs)}::float8[],
      ${column((e) => e.lossPercent)}::float8[], ${column((e) => e.reason)}::text[],
      ${column((e) => e.policyDigest)}::text[])
    on conflict do nothing returning device_id, event_id`.execute(tx)
  return rows
}
