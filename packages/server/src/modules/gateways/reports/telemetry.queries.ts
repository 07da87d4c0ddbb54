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

/** One statement for events of any tenants. Returns those that were not there before. */
export const insertEvents = async (tx: Tx, events: readonly Event[]) => {
  const column = <T>(of: (e: Event) => T) => events.map(of)
  const { rows } = await sql<{ device_id: string; event_id: string; at: Date }>`
    insert into telemetry_events (tenant_id, at, device_id, event_id, session_id, kind, gateway_id, latency_ms, loss_percent,
      reason, policy_digest)
    select * from unnest(${column((e) => e.tenantId)}::uuid[], ${column((e) => e.at)}::timestamptz[],
      ${column((e) => e.deviceId)}::uuid[], ${column((e) => e.eventId)}::text[], ${column((e) => e.sessionId)}::text[],
      ${column((e) => e.kind)}::text[], ${column((e) => e.gatewayId)}::uuid[], ${column((e) => e.latencyMs)}::float8[],
      ${column((e) => e.lossPercent)}::float8[], ${column((e) => e.reason)}::text[],
      ${column((e) => e.policyDigest)}::text[])
    on conflict do nothing returning device_id, event_id, at`.execute(tx)
  return rows
}
