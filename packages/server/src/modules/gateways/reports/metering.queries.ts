import { type Selectable, sql } from 'kysely'
import { keyedLocks } from '../../../db/advisory-locks.ts'
import type { Tx } from '../../../db/database.ts'
import type { ResourceBytes } from '../../../db/tables/gateways.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { LimitGrant } from '../../../kernel/allowance.ts'
import { storableJson } from '../../../kernel/text.ts'

/** Report of one session. Ids are UUIDs. Bytes are those since the report before. */
export type MeteringSample = {
  sessionId: string
  deviceId: string
  /** `says`: the gateway's state of the session. `ended`: the state here. */
  says: 'active' | 'ended'
  ended: boolean
  endReason: string
  startedAt: Date
  rxBytes: number
  txBytes: number
  rxPackets: number
  txPackets: number
  deniedPackets: number
  resources: ResourceBytes
  latestHandshakeAt: Date | null
  sourcePort: number | null
  sourceIp: string | null
  assignedIp: string | null
  policyDigest: string | null
  /** Digest of the policy assigned to the device now. */
  assignedDigest: string | null
  /** True if the device may use the gateway's pool. */
  isLetIn: boolean
}
export type ReportKey = { gatewayId: string; bootId: string; sequence: number; intervalStart: Date; intervalEnd: Date }
type ReportTotals = { reportId: string; samples: number; rxBytes: number; txBytes: number }

/** Serializes the reports of this gateway until commit, and prevents its deletion. Undefined if it was deleted. */
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

/** False if this boot of the gateway has sent this sequence number before. The reports of a gateway are serialized. */
export const insertReport = async (tx: Tx, tenant: TenantId, k: ReportKey, t: ReportTotals): Promise<boolean> => {
  const key = { tenant_id: tenant, gateway_id: k.gatewayId, boot_id: k.bootId, sequence: k.sequence }
  const known = await tx
    .selectFrom('metering_reports')
    .select('sequence')
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', k.gatewayId)
    .where('boot_id', '=', k.bootId)
    .where('sequence', '=', k.sequence)
    .executeTakeFirst()
  if (known) return false
  const totals = { report_id: t.reportId, samples: t.samples, rx_bytes: t.rxBytes, tx_bytes: t.txBytes }
  await tx
    .insertInto('metering_reports')
    .values({ ...key, interval_start: k.intervalStart, interval_end: k.intervalEnd, ...totals })
    .execute()
  return true
}

const unnested = (samples: readonly MeteringSample[]) => {
  const column = <T>(of: (s: MeteringSample) => T) => samples.map(of)
  return sql`unnest(${column((s) => s.sessionId)}::uuid[], ${column((s) => s.deviceId)}::uuid[], ${column((s) => s.ended)}::boolean[],
      ${column((s) => s.endReason)}::text[], ${column((s) => s.startedAt)}::timestamptz[], ${column((s) => s.rxBytes)}::bigint[],
      ${column((s) => s.txBytes)}::bigint[], ${column((s) => s.sourceIp)}::text[], ${column((s) => s.assignedIp)}::text[],
      ${column((s) => s.policyDigest)}::text[], ${column((s) => s.rxPackets)}::bigint[],
      ${column((s) => s.txPackets)}::bigint[], ${column((s) => s.deniedPackets)}::bigint[],
      ${column((s) => s.latestHandshakeAt)}::timestamptz[], ${column((s) => s.sourcePort)}::integer[],
      ${column((s) => (isEmpty(s.resources) ? null : storableJson(s.resources)))}::jsonb[], ${column((s) => s.says)}::text[],
      ${column((s) => s.isLetIn)}::boolean[])
    as s (session_id, device_id, ended, end_reason, started_at, rx_bytes, tx_bytes, source_ip, assigned_ip, policy_digest,
      rx_packets, tx_packets, denied_packets, latest_handshake_at, source_port, resources, says, let_in)`
}
const isEmpty = (resources: ResourceBytes) => Object.keys(resources).length === 0

/** Limit of sums, so that they stay exact as numbers and never overflow. */
const most = sql.lit(Number.MAX_SAFE_INTEGER)

/** Sum of a session's bytes by resource and those of a report, for one row of `v` and one of `s`. */
const addedUp = sql`(
      select jsonb_object_agg(name, jsonb_build_array(
        least(coalesce((v.resources -> name -> 0)::bigint, 0)::numeric + (added -> 0)::bigint, ${most}),
        least(coalesce((v.resources -> name -> 1)::bigint, 0)::numeric + (added -> 1)::bigint, ${most})))
      from jsonb_each(s.resources) as r (name, added))`

/**
 * Returns the resources for which these sessions have bytes. Only reports of their gateway add to them, and those are
 * serialized.
 */
export const resourcesOf = async (tx: Tx, tenant: TenantId, gatewayId: string, sessionIds: readonly string[]) => {
  const { rows } = await sql<{ session_id: string; names: string[] }>`
    select session_id, array(select jsonb_object_keys(resources)) as names from vpn_sessions
    where tenant_id = ${tenant} and session_id = any(${sessionIds}::uuid[]) and gateway_id = ${gatewayId}`.execute(tx)
  return new Map(rows.map((r) => [r.session_id, r.names]))
}

/**
 * Adds to sessions that this gateway opened before. An ended session stays ended. A gateway that keeps reporting it as
 * active, or carries a device that its pool does not admit, defies the control plane. Returns the sessions found.
 */
export const addToSessions = async (
  tx: Tx,
  tenant: TenantId,
  gatewayId: string,
  samples: readonly MeteringSample[],
  { seenAt, cutBefore }: { seenAt: Date; cutBefore: Date },
): Promise<{ session_id: string; device_id: string; defied: boolean }[]> => {
  const defies = sql`s.says = 'active' and case v.state
    when 'ended' then v.ended_at <= ${cutBefore} else not s.let_in end`
  // A late report adds its bytes, but does not replace newer state.
  const isNewest = sql`(${seenAt}::timestamptz >= v.last_seen_at)`
  const { rows } = await sql<{ session_id: string; device_id: string; defied: boolean }>`
    with locked as (
      select session_id from vpn_sessions
      where tenant_id = ${tenant} and session_id = any(${samples.map((s) => s.sessionId)}::uuid[])
        and gateway_id = ${gatewayId}
      order by session_id for update)
    update vpn_sessions v set
      rx_bytes = least(v.rx_bytes + s.rx_bytes, ${most}), tx_bytes = least(v.tx_bytes + s.tx_bytes, ${most}),
      rx_packets = least(v.rx_packets + s.rx_packets, ${most}), tx_packets = least(v.tx_packets + s.tx_packets, ${most}),
      denied_packets = least(v.denied_packets + s.denied_packets, ${most}),
      last_denied_at = case when s.denied_packets > 0
        then greatest(v.last_denied_at, ${seenAt}::timestamptz) else v.last_denied_at end,
      latest_handshake_at = greatest(v.latest_handshake_at, s.latest_handshake_at),
      source_port = coalesce(s.source_port, v.source_port),
      resources = case when s.resources is null then v.resources else v.resources || ${addedUp} end,
      last_seen_at = greatest(v.last_seen_at, ${seenAt}::timestamptz),
      state = case when s.ended then 'ended' else v.state end,
      ended_at = case when s.ended then coalesce(v.ended_at, ${seenAt}::timestamptz) else v.ended_at end,
      end_reason = case when s.ended and v.state = 'active' then s.end_reason else v.end_reason end,
      source_ip = coalesce(s.source_ip, v.source_ip), assigned_ip = coalesce(s.assigned_ip, v.assigned_ip),
      policy_digest = case when ${isNewest} then coalesce(s.policy_digest, v.policy_digest) else v.policy_digest end,
      gateway_state = case when ${isNewest} then s.says else v.gateway_state end,
      defied_since = case when not ${isNewest} then v.defied_since
        when ${defies} then coalesce(v.defied_since, ${seenAt}::timestamptz) end
    from ${unnested(samples)}, locked
    where v.tenant_id = ${tenant} and v.session_id = s.session_id and locked.session_id = s.session_id
      and v.gateway_id = ${gatewayId} and v.device_id = s.device_id
    returning v.session_id, v.device_id, v.defied_since is not null as defied`.execute(tx)
  return rows
}

/**
 * Serializes the opening of sessions with these ids, or of these devices, until commit. Sessions are partitioned by
 * month, so no index keeps an id unique or identifies a device's newest session. If two gateways begin a session at the
 * same time, the second must see the first's. Taken before any row lock of a session.
 */
export const holdNewSessions = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  sql`
    select pg_advisory_xact_lock(${sql.lit(keyedLocks.newSessions)}, bucket) from (
      select distinct hashtext(${tenant}::text || id) & 63 as bucket from unnest(${ids}::text[]) as id order by 1) as b`.execute(
    tx,
  )

/** Returns the properties of devices that are stored with a new session. Unknown devices are absent. */
export const findDevicesOfSessions = async (tx: Tx, tenant: TenantId, deviceIds: readonly string[]) => {
  const rows = await tx
    .selectFrom('devices as d')
    .leftJoin('device_postures as p', (j) =>
      j.onRef('p.tenant_id', '=', 'd.tenant_id').onRef('p.device_id', '=', 'd.device_id'),
    )
    .select(['d.device_id', 'd.user_id', 'd.client_version', 'd.jkt', 'p.verdict'])
    .where('d.tenant_id', '=', tenant)
    .where('d.device_id', '=', sql<string>`any(${deviceIds}::uuid[])`)
    .execute()
  return new Map(rows.map((row) => [row.device_id, row]))
}

export type NewSession = Omit<Selectable<Tables['vpn_sessions']>, 'tenant_id' | 'block_until' | 'last_denied_at'>
/** Returns the ids of the inserted sessions. */
export const insertSessions = async (
  tx: Tx,
  _: LimitGrant,
  tenant: TenantId,
  sessions: readonly NewSession[],
): Promise<string[]> => {
  const { rows } = await sql<{ session_id: string }>`
    insert into vpn_sessions (tenant_id, session_id, device_id, user_id, gateway_id, pool_id, state, started_at, last_seen_at,
      ended_at, end_reason, source_ip, assigned_ip, protocol, client_version, auth_method, policy_digest, posture_verdict,
      rx_bytes, tx_bytes, rx_packets, tx_packets, denied_packets, latest_handshake_at, source_port, resources,
      assigned_digest, gateway_state, defied_since, last_denied_at)
    select ${tenant}::uuid, s.*, case when s.denied_packets > 0 then s.last_seen_at end
    from jsonb_to_recordset(${storableJson(sessions)}::jsonb) as s (session_id uuid,
      device_id uuid, user_id uuid, gateway_id uuid, pool_id uuid, state text, started_at timestamptz,
      last_seen_at timestamptz, ended_at timestamptz, end_reason text, source_ip text, assigned_ip text, protocol text,
      client_version text, auth_method text, policy_digest text, posture_verdict text, rx_bytes bigint, tx_bytes bigint,
      rx_packets bigint, tx_packets bigint, denied_packets bigint, latest_handshake_at timestamptz, source_port integer,
      resources jsonb, assigned_digest text, gateway_state text, defied_since timestamptz)
    order by s.session_id
    on conflict (tenant_id, session_id, ended_at) do nothing
    returning session_id`.execute(tx)
  return rows.map((r) => r.session_id)
}

/** Returns those of these devices that have an active session in the pool, which a new one replaces. */
export const devicesInPool = async (
  tx: Tx,
  tenant: TenantId,
  poolId: string,
  deviceIds: readonly string[],
): Promise<Set<string>> => {
  const { rows } = await sql<{ device_id: string }>`
    select distinct device_id from vpn_sessions
    where tenant_id = ${tenant} and device_id = any(${deviceIds}::uuid[]) and pool_id = ${poolId}
      and state = 'active' and ended_at is null`.execute(tx)
  return new Set(rows.map((r) => r.device_id))
}

/** Returns those of these devices that the pool's gateways block, since an administrator ended a session of theirs. */
export const blockedDevices = async (
  tx: Tx,
  tenant: TenantId,
  poolId: string,
  deviceIds: readonly string[],
  { at, since }: { at: Date; since: Date },
): Promise<Set<string>> => {
  const { rows } = await sql<{ device_id: string }>`
    select distinct device_id from vpn_sessions
    where tenant_id = ${tenant} and device_id = any(${deviceIds}::uuid[]) and state = 'ended' and ended_at >= ${since}
      and pool_id = ${poolId} and block_until > ${at}`.execute(tx)
  return new Set(rows.map((r) => r.device_id))
}

/**
 * Locks the sessions of a report, and those that a newer session of their device may end, in the order of their ids.
 */
export const lockSessions = (
  tx: Tx,
  tenant: TenantId,
  which: { sessionIds: readonly string[]; poolId: string; deviceIds: readonly string[] },
) =>
  sql`
    select session_id from vpn_sessions
    where tenant_id = ${tenant} and session_id in (
      select unnest(${which.sessionIds}::uuid[])
      union
      select s.session_id from vpn_sessions s
      where s.tenant_id = ${tenant} and s.device_id = any(${which.deviceIds}::uuid[]) and s.pool_id = ${which.poolId}
        and s.state = 'active' and s.ended_at is null)
    order by session_id for update`.execute(tx)

/**
 * Ends all but the newest active session of each device in this pool, and returns the ended ones. They are ranked in
 * one pass, so that no plan can compare each with each.
 */
export const endSuperseded = (tx: Tx, tenant: TenantId, poolId: string, deviceIds: readonly string[], at: Date) =>
  sql<{ session_id: string; gateway_id: string }>`
    with ranked as (
      select session_id, row_number() over (partition by device_id order by started_at desc, session_id desc) as place
      from vpn_sessions
      where tenant_id = ${tenant} and pool_id = ${poolId} and state = 'active' and ended_at is null
        and device_id = any(${deviceIds}::uuid[])),
    locked as (
      select session_id from vpn_sessions
      where tenant_id = ${tenant} and state = 'active' and ended_at is null
        and session_id = any(array(select session_id from ranked where place > 1))
      order by session_id for update)
    update vpn_sessions v set state = 'ended', ended_at = ${at}, end_reason = 'superseded'
    from locked
    where v.tenant_id = ${tenant} and v.session_id = locked.session_id and v.state = 'active' and v.ended_at is null
    returning v.session_id, v.gateway_id`
    .execute(tx)
    .then((r) => r.rows)

/** Returns the gateways of these sessions. Unknown sessions are absent. */
export const ownersOf = async (tx: Tx, tenant: TenantId, sessionIds: readonly string[]) => {
  const rows = await tx
    .selectFrom('vpn_sessions')
    .select(['session_id', 'gateway_id'])
    .where('tenant_id', '=', tenant)
    .where('session_id', '=', sql<string>`any(${sessionIds}::uuid[])`)
    .execute()
  return new Map(rows.map((row) => [row.session_id, row.gateway_id]))
}
