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
export type Seen = { tenantId: TenantId; deviceId: string; at: Date; applied: { digest: string; at: Date } | null }

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

/** One row a device. The newest word on what a device applied wins; marks never go back. */
export const markDevices = (tx: Tx, seen: readonly Seen[]) => {
  const column = <T>(of: (s: Seen) => T) => seen.map(of)
  return sql`
    insert into device_activity as a (tenant_id, device_id, last_seen_at, applied_digest, applied_at)
    select * from unnest(${column((s) => s.tenantId)}::uuid[], ${column((s) => s.deviceId)}::uuid[],
      ${column((s) => s.at)}::timestamptz[], ${column((s) => s.applied?.digest ?? null)}::text[],
      ${column((s) => s.applied?.at ?? null)}::timestamptz[])
    order by 1, 2
    on conflict (tenant_id, device_id) do update set
      last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at),
      applied_digest = case when excluded.applied_at >= coalesce(a.applied_at, '-infinity')
        then excluded.applied_digest else a.applied_digest end,
      applied_at = greatest(a.applied_at, excluded.applied_at)`.execute(tx)
}
