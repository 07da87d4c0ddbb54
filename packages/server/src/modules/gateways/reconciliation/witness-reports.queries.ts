import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** A connection between a device and a gateway, as UUIDs. Null: the device named no known gateway. */
export type ConnectionKey = { deviceId: string; gatewayId: string | null }

export type SessionWord = {
  device_id: string
  gateway_id: string
  pool_id: string
  session_id: string
  user_id: string | null
  state: 'active' | 'ended'
  started_at: Date
  ended_at: Date | null
  end_reason: string | null
  last_seen_at: Date
  gateway_state: 'active' | 'ended' | null
  policy_digest: string | null
  assigned_ip: string | null
  source_ip: string | null
  defied_since: Date | null
}

/**
 * Returns for each connection its session: the active one, else the one with the newest report. Sessions that ended
 * before `endedSince` are left out.
 */
export const selectSessionReports = (tx: Tx, tenant: TenantId, keys: readonly ConnectionKey[], endedSince: Date) =>
  sql<SessionWord>`
    select s.* from unnest(${keys.map((k) => k.deviceId)}::uuid[], ${keys.map((k) => k.gatewayId)}::uuid[])
      as k (device_id, gateway_id)
    cross join lateral (
      select device_id, gateway_id, pool_id, session_id, user_id, state, started_at, ended_at, end_reason, last_seen_at,
        gateway_state, policy_digest, assigned_ip, source_ip, defied_since
      from vpn_sessions v
      where v.tenant_id = ${tenant} and v.device_id = k.device_id and v.gateway_id = k.gateway_id
        and (v.ended_at is null or v.ended_at >= ${endedSince})
      order by v.state, v.last_seen_at desc, v.session_id desc limit 1) as s`
    .execute(tx)
    .then((r) => r.rows)

/** Returns the last reports of these devices about their connections. */
export const selectDeviceReports = (tx: Tx, tenant: TenantId, deviceIds: readonly string[]) =>
  tx
    .selectFrom('device_claims')
    .select([
      'device_id',
      'gateway_id',
      'session_id',
      'state',
      'since',
      'said_at',
      'policy_digest',
      'latency_ms',
      'reason',
    ])
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', sql<string>`any(${deviceIds}::uuid[])`)
    .execute()
export type DeviceWord = Awaited<ReturnType<typeof selectDeviceReports>>[number]

type Filter = { deviceId?: string; userId?: string; gatewayId?: string }

/** Selects active sessions with the columns that are compared with the other sources. */
export const selectActive = (tx: Tx, tenant: TenantId, { deviceId, userId, gatewayId }: Filter) => {
  let q = tx
    .selectFrom('vpn_sessions')
    .select([
      ...(['device_id', 'gateway_id', 'pool_id', 'session_id', 'user_id', 'state', 'started_at', 'ended_at'] as const),
      ...(['end_reason', 'last_seen_at', 'gateway_state', 'policy_digest', 'assigned_ip', 'source_ip'] as const),
      'defied_since',
    ])
    .where('tenant_id', '=', tenant)
    .where('state', '=', 'active')
    .where('ended_at', 'is', null)
  if (deviceId !== undefined) q = q.where('device_id', '=', deviceId)
  if (userId !== undefined) q = q.where('user_id', '=', userId)
  if (gatewayId !== undefined) q = q.where('gateway_id', '=', gatewayId)
  return q
}
