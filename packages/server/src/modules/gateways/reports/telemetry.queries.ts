import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type Event = {
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

/** Of these sessions those that are sessions of these devices. */
export const ownSessions = async (tx: Tx, events: readonly Event[]) => {
  const column = <T>(of: (e: Event) => T) => events.map(of)
  const { rows } = await sql<{ device_id: string; session_id: string }>`
    select v.device_id, v.session_id
    from unnest(${column((e) => e.tenantId)}::uuid[], ${column((e) => e.deviceId)}::uuid[],
      ${column((e) => e.sessionId)}::uuid[]) as e (tenant_id, device_id, session_id)
    join vpn_sessions v on v.tenant_id = e.tenant_id and v.session_id = e.session_id and v.device_id = e.device_id`.execute(
    tx,
  )
  return rows
}

/**
 * One statement for events of any tenants, each id of a device once. Returns those that were not there before; the
 * caller holds the devices' rows of `device_activity`, so that of two at once the second sees what the first wrote.
 */
export const insertEvents = async (tx: Tx, events: readonly Event[]) => {
  const column = <T>(of: (e: Event) => T) => events.map(of)
  const { rows } = await sql<{ device_id: string; event_id: string }>`
    insert into telemetry_events (tenant_id, at, device_id, event_id, session_id, kind, gateway_id, latency_ms, loss_percent,
      reason, policy_digest)
    select * from unnest(${column((e) => e.tenantId)}::uuid[], ${column((e) => e.at)}::timestamptz[],
      ${column((e) => e.deviceId)}::uuid[], ${column((e) => e.eventId)}::text[], ${column((e) => e.sessionId)}::uuid[],
      ${column((e) => e.kind)}::text[], ${column((e) => e.gatewayId)}::uuid[], ${column((e) => e.latencyMs)}::float8[],
      ${column((e) => e.lossPercent)}::float8[], ${column((e) => e.reason)}::text[],
      ${column((e) => e.policyDigest)}::text[])
      as e (tenant_id, at, device_id, event_id)
    where not exists (
      select from telemetry_events t
      where t.tenant_id = e.tenant_id and t.device_id = e.device_id and t.event_id = e.event_id)
    on conflict do nothing returning device_id, event_id`.execute(tx)
  return rows
}
