import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** What a report says of one session, ids as UUIDs. Bytes are what was carried since the report before. */
export type Sample = {
  sessionId: string
  deviceId: string
  ended: boolean
  endReason: string
  startedAt: Date
  rxBytes: number
  txBytes: number
  sourceIp: string | null
  assignedIp: string | null
  policyDigest: string | null
  /** What the device should have when the gateway does not say what it has. */
  currentDigest: string | null
}
export type ReportKey = { gatewayId: string; bootId: string; sequence: number; intervalStart: Date; intervalEnd: Date }
export type ReportTotals = { reportId: string; samples: number; rxBytes: number; txBytes: number }

/** Until commit the reports of this gateway take turns, and it is not deleted. Undefined: it was. */
export const lockReporter = (tx: Tx, tenant: TenantId, gatewayId: string) =>
  tx
    .selectFrom('gateways as g')
    .innerJoin('gateway_pools as p', (j) =>
      j.onRef('p.tenant_id', '=', 'g.tenant_id').onRef('p.pool_id', '=', 'g.pool_id'),
    )
    .select(['g.pool_id', 'p.protocol'])
    .where('g.tenant_id', '=', tenant)
    .where('g.gateway_id', '=', gatewayId)
    .where('g.deleted_at', 'is', null)
    .forNoKeyUpdate('g')
    .executeTakeFirst()

/** False when this gateway, since this start of it, has sent this sequence number before. */
export const insertReport = async (tx: Tx, tenant: TenantId, k: ReportKey, t: ReportTotals): Promise<boolean> => {
  const { rows } = await sql`
    insert into metering_reports (tenant_id, interval_end, gateway_id, boot_id, sequence, report_id, interval_start, samples,
      rx_bytes, tx_bytes)
    select ${tenant}, ${k.intervalEnd}, ${k.gatewayId}, ${k.bootId}, ${k.sequence}::bigint, ${t.reportId}, ${k.intervalStart},
      ${t.samples}::integer, ${t.rxBytes}::bigint, ${t.txBytes}::bigint
    where not exists (
      select from metering_reports
      where tenant_id = ${tenant} and gateway_id = ${k.gatewayId} and boot_id = ${k.bootId} and sequence = ${k.sequence}::bigint)
    on conflict do nothing returning sequence`.execute(tx)
  return rows.length === 1
}

const unnested = (samples: readonly Sample[]) => {
  const column = <T>(of: (s: Sample) => T) => samples.map(of)
  return sql`unnest(${column((s) => s.sessionId)}::uuid[], ${column((s) => s.deviceId)}::uuid[], ${column((s) => s.ended)}::boolean[],
      ${column((s) => s.endReason)}::text[], ${column((s) => s.startedAt)}::timestamptz[], ${column((s) => s.rxBytes)}::bigint[],
      ${column((s) => s.txBytes)}::bigint[], ${column((s) => s.sourceIp)}::text[], ${column((s) => s.assignedIp)}::text[],
      ${column((s) => s.policyDigest)}::text[], ${column((s) => s.currentDigest)}::text[])
    as s (session_id, device_id, ended, end_reason, started_at, rx_bytes, tx_bytes, source_ip, assigned_ip, policy_digest,
      current_digest)`
}

/** Sums stay exact as numbers and never overflow. */
const most = sql.lit(Number.MAX_SAFE_INTEGER)

/** Adds to sessions that this gateway opened before. What has ended stays ended. Returns the ids found. */
export const addToSessions = async (
  tx: Tx,
  tenant: TenantId,
  gatewayId: string,
  samples: readonly Sample[],
  seenAt: Date,
): Promise<string[]> => {
  const { rows } = await sql<{ session_id: string }>`
    with locked as (
      select session_id from vpn_sessions
      where tenant_id = ${tenant} and session_id = any(${samples.map((s) => s.sessionId)}::uuid[])
        and gateway_id = ${gatewayId}
      order by session_id for update)
    update vpn_sessions v set
      rx_bytes = least(v.rx_bytes + s.rx_bytes, ${most}), tx_bytes = least(v.tx_bytes + s.tx_bytes, ${most}),
      last_seen_at = greatest(v.last_seen_at, ${seenAt}::timestamptz),
      state = case when s.ended then 'ended' else v.state end,
      ended_at = case when s.ended then coalesce(v.ended_at, ${seenAt}::timestamptz) else v.ended_at end,
      end_reason = case when s.ended and v.state = 'active' then s.end_reason else v.end_reason end,
      source_ip = coalesce(s.source_ip, v.source_ip), assigned_ip = coalesce(s.assigned_ip, v.assigned_ip),
      policy_digest = coalesce(s.policy_digest, v.policy_digest)
    from ${unnested(samples)}, locked
    where v.tenant_id = ${tenant} and v.session_id = s.session_id and locked.session_id = s.session_id
      and v.gateway_id = ${gatewayId} and v.device_id = s.device_id
    returning v.session_id`.execute(tx)
  return rows.map((r) => r.session_id)
}

/**
 * Until commit whoever opens sessions with these ids takes turns. No index spans the months in which sessions lie, so that
 * of two gateways that begin with one id at once the second must see what the first has made.
 */
export const holdNewSessions = (tx: Tx, tenant: TenantId, sessionIds: readonly string[]) =>
  sql`
    select pg_advisory_xact_lock(${sql.lit(openingLock)}, bucket) from (
      select distinct hashtext(${tenant}::text || id) & 63 as bucket from unnest(${sessionIds}::text[]) as id order by 1) as b`.execute(
    tx,
  )
// Any number serves that no other user of the database takes; the second key is one of 64.
const openingLock = 7_264_405

/** Opens sessions of devices of this tenant, with what was known of the device then. Returns the ids opened. */
export const openSessions = async (
  tx: Tx,
  tenant: TenantId,
  gateway: { gatewayId: string; poolId: string; protocol: string },
  samples: readonly Sample[],
  seenAt: Date,
): Promise<string[]> => {
  const { rows } = await sql<{ session_id: string }>`
    insert into vpn_sessions (tenant_id, session_id, device_id, user_id, gateway_id, pool_id, state, started_at, last_seen_at,
      ended_at, end_reason, source_ip, assigned_ip, protocol, client_version, auth_method, policy_digest, posture_verdict,
      rx_bytes, tx_bytes)
    select d.tenant_id, s.session_id, d.device_id, d.user_id, ${gateway.gatewayId}, ${gateway.poolId},
      case when s.ended then 'ended' else 'active' end, s.started_at, ${seenAt},
      case when s.ended then ${seenAt}::timestamptz end, case when s.ended then s.end_reason end,
      s.source_ip, s.assigned_ip, ${gateway.protocol}, d.client_version,
      case when d.jkt is null then 'device_credential' else 'device_key' end, coalesce(s.policy_digest, s.current_digest),
      coalesce(p.verdict, 'unknown'), s.rx_bytes, s.tx_bytes
    from ${unnested(samples)}
    join devices d on d.tenant_id = ${tenant} and d.device_id = s.device_id
    left join device_postures p on p.tenant_id = d.tenant_id and p.device_id = d.device_id
    where not exists (select from vpn_sessions k where k.tenant_id = ${tenant} and k.session_id = s.session_id)
    order by s.session_id
    on conflict (tenant_id, session_id, ended_at) do nothing
    returning session_id`.execute(tx)
  return rows.map((r) => r.session_id)
}

/** Of several active sessions of a device on this gateway only the one that started last stays. */
export const endSuperseded = (tx: Tx, tenant: TenantId, gatewayId: string, deviceIds: readonly string[], at: Date) =>
  sql`
    with locked as (
      select session_id from vpn_sessions s
      where tenant_id = ${tenant} and gateway_id = ${gatewayId} and state = 'active' and ended_at is null
        and device_id = any(${deviceIds}::uuid[])
        and exists (
          select from vpn_sessions n
          where n.tenant_id = s.tenant_id and n.gateway_id = s.gateway_id and n.device_id = s.device_id
            and n.state = 'active' and n.ended_at is null and (n.started_at, n.session_id) > (s.started_at, s.session_id))
      order by session_id for update)
    update vpn_sessions v set state = 'ended', ended_at = ${at}, end_reason = 'superseded'
    from locked
    where v.tenant_id = ${tenant} and v.session_id = locked.session_id and v.state = 'active' and v.ended_at is null`.execute(
    tx,
  )

/** Why samples were not stored: which of these devices and sessions the tenant knows. */
export async function findReasons(tx: Tx, tenant: TenantId, samples: readonly Sample[]) {
  const devices = await tx
    .selectFrom('devices')
    .select('device_id')
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', sql<string>`any(${samples.map((s) => s.deviceId)}::uuid[])`)
    .execute()
  const sessions = await tx
    .selectFrom('vpn_sessions')
    .select(['session_id', 'gateway_id'])
    .where('tenant_id', '=', tenant)
    .where('session_id', '=', sql<string>`any(${samples.map((s) => s.sessionId)}::uuid[])`)
    .execute()
  return {
    devices: new Set(devices.map((d) => d.device_id)),
    gatewayOf: new Map(sessions.map((s) => [s.session_id, s.gateway_id])),
  }
}
