import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type SessionRow = Omit<
  Selectable<Tables['vpn_sessions']>,
  'resources' | 'gateway_state' | 'defied_since' | 'last_denied_at'
>
export type SessionFilter = { device_id?: string; user_id?: string; gateway_id?: string; pool_id?: string }

/** Columns of a list. Bytes by resource are shown for a single session only. */
const listed = [
  'tenant_id',
  'session_id',
  'device_id',
  'user_id',
  'gateway_id',
  'pool_id',
  'state',
  'started_at',
  'last_seen_at',
  'ended_at',
  'end_reason',
  'block_until',
  'source_ip',
  'assigned_ip',
  'protocol',
  'client_version',
  'auth_method',
  'policy_digest',
  'assigned_digest',
  'posture_verdict',
  'rx_bytes',
  'tx_bytes',
  'rx_packets',
  'tx_packets',
  'denied_packets',
  'latest_handshake_at',
  'source_port',
] as const satisfies readonly (keyof SessionRow)[]

const columns = ['device_id', 'user_id', 'gateway_id', 'pool_id'] as const

export const selectSessions = (tx: Tx, tenant: TenantId, state: 'active' | 'ended' | 'all', filter: SessionFilter) => {
  let q = tx.selectFrom('vpn_sessions').select(listed).where('tenant_id', '=', tenant)
  if (state !== 'all') q = q.where('state', '=', state)
  // Restricts the scan to the partition of active sessions.
  if (state === 'active') q = q.where('ended_at', 'is', null)
  for (const column of columns) {
    const value = filter[column]
    if (value !== undefined) q = q.where(column, '=', value)
  }
  return q
}

export const findSession = (tx: Tx, tenant: TenantId, sessionId: string) =>
  tx
    .selectFrom('vpn_sessions')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('session_id', '=', sessionId)
    .executeTakeFirst()

/** True if the device, or any device of the user, has an active session in one of these pools; null: in any pool. */
export const hasActive = async (
  tx: Tx,
  tenant: TenantId,
  of: { device_id: string } | { user_id: string },
  poolIds: readonly string[] | null,
): Promise<boolean> => {
  let q = selectSessions(tx, tenant, 'active', of)
  if (poolIds !== null) q = q.where('pool_id', '=', sql<string>`any(${poolIds}::uuid[])`)
  return (await q.limit(1).executeTakeFirst()) !== undefined
}

export const countKnown = async (tx: Tx, tenant: TenantId, sessionIds: readonly string[]): Promise<number> => {
  const { known } = await tx
    .selectFrom('vpn_sessions')
    .select((eb) => eb.fn.countAll<number>().as('known'))
    .where('tenant_id', '=', tenant)
    .where('session_id', '=', sql<string>`any(${sessionIds}::uuid[])`)
    .executeTakeFirstOrThrow()
  return known
}

/** Reason and time of an end, and the end of the block on the devices. */
type End = { reason: string; at: Date; blockUntil: Date | null }

/**
 * Ends active sessions. Rows are locked in the order of their ids, as in every change of several sessions, so that
 * concurrent changes wait instead of deadlocking.
 */
const endWhere = (tx: Tx, tenant: TenantId, where: ReturnType<typeof sql>, end: End, limit: number) =>
  sql<{ session_id: string; gateway_id: string }>`
    with locked as (
      select session_id from vpn_sessions
      where tenant_id = ${tenant} and state = 'active' and ended_at is null and ${where}
      order by session_id limit ${limit} for update)
    update vpn_sessions v set state = 'ended', ended_at = ${end.at}, end_reason = ${end.reason},
      block_until = ${end.blockUntil}::timestamptz
    from locked
    where v.tenant_id = ${tenant} and v.session_id = locked.session_id and v.state = 'active' and v.ended_at is null
    returning v.session_id, v.gateway_id`
    .execute(tx)
    .then((r) => r.rows)

const anyNumber = 2 ** 31 - 1

export const endByIds = (tx: Tx, tenant: TenantId, ids: readonly string[], end: End) =>
  endWhere(tx, tenant, sql`session_id = any(${ids}::uuid[])`, end, anyNumber)

export const endMatching = (tx: Tx, tenant: TenantId, f: SessionFilter, end: End, limit: number) => {
  const parts = columns.flatMap((c) => (f[c] === undefined ? [] : [sql`${sql.ref(c)} = ${f[c]}`]))
  return endWhere(tx, tenant, sql`${sql.join(parts, sql` and `)}`, end, limit)
}

/** Ends up to `limit` active sessions of the tenant. */
export const endAny = (tx: Tx, tenant: TenantId, end: End, limit: number) => endWhere(tx, tenant, sql`true`, end, limit)

export const endOfDevicesAndUsers = (
  tx: Tx,
  tenant: TenantId,
  which: { deviceIds: readonly string[]; userIds: readonly string[] },
  end: End,
) =>
  endWhere(
    tx,
    tenant,
    sql`(device_id = any(${which.deviceIds}::uuid[]) or user_id = any(${which.userIds}::uuid[]))`,
    end,
    anyNumber,
  )

export const endSessionsOfGateway = (tx: Tx, tenant: TenantId, gatewayId: string, reason: string, at: Date) =>
  endWhere(tx, tenant, sql`gateway_id = ${gatewayId}`, { reason, at, blockUntil: null }, anyNumber)

/** Selects across tenants those with active sessions that no report mentioned since. */
export const tenantsWithSilent = async (tx: Tx, since: Date): Promise<TenantId[]> => {
  const rows = await tx
    .selectFrom('vpn_sessions')
    .select('tenant_id')
    .distinct()
    .where('state', '=', 'active')
    .where('ended_at', 'is', null)
    .where('last_seen_at', '<', since)
    .execute()
  return rows.map((r) => r.tenant_id)
}

/** A report may have arrived since the tenant was found: the locked row decides. */
export const endSilent = (tx: Tx, tenant: TenantId, since: Date, at: Date, limit: number): Promise<number> =>
  endWhere(tx, tenant, sql`last_seen_at < ${since}`, { reason: 'timeout', at, blockUntil: null }, limit).then(
    (rows) => rows.length,
  )

/** Returns the end of the block on a device whose session an administrator terminated. */
export const findBlockedUntil = async (tx: Tx, tenant: TenantId, deviceId: string, at: Date) => {
  const row = await tx
    .selectFrom('vpn_sessions')
    .select('block_until')
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .where('state', '=', 'ended')
    .where('block_until', '>', at)
    .orderBy('block_until', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.block_until ?? undefined
}

type SessionHit = {
  session_id: string
  device_id: string
  user_id: string | null
  gateway_id: string
  device_name: string | null
  source_ip: string | null
  assigned_ip: string | null
}

/** Returns the newest active sessions of each of these ids, by index, so that no row is read in vain. */
export const findActiveOf = async (
  tx: Tx,
  tenant: TenantId,
  column: 'session_id' | 'device_id' | 'user_id',
  ids: readonly string[],
  most: number,
): Promise<SessionHit[]> => {
  const { rows } = await sql<SessionHit>`
    select s.session_id, s.device_id, s.user_id, s.gateway_id, s.source_ip, s.assigned_ip,
      (select d.name from devices d where d.tenant_id = ${tenant} and d.device_id = s.device_id) as device_name
    from unnest(${ids}::uuid[]) as sought (id)
    cross join lateral (
      select * from vpn_sessions v
      where v.tenant_id = ${tenant} and v.${sql.ref(column)} = sought.id and v.state = 'active' and v.ended_at is null
      order by v.started_at desc, v.session_id desc limit ${most}) as s
    limit ${most}`.execute(tx)
  return rows
}
