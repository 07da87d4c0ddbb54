import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { LockedBy, UserState } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { deviceBindings, hasEffectiveStatus, statusBehind } from './effective.queries.ts'
import {
  type DenseDeviceFilters,
  type DeviceFilterQuery,
  deviceConditions,
  deviceRange,
  plainConditions,
  type Sort,
} from './filter.queries.ts'
import { presenceOf } from './presence.queries.ts'

/** Columns that the API shows. The public key, for example, is not among them. */
const listColumns = [
  ...(['tenant_id', 'device_id', 'user_id', 'name', 'platform', 'os_version', 'client_version', 'serial'] as const),
  ...(['tags', 'group_ids', 'status', 'channel', 'jkt', 'wireguard_public_key', 'address_number'] as const),
  ...(['credential_expires_at', 'credential_renew_after', 'enrolled_method', 'token_id', 'provider_id'] as const),
  ...(['enrolled_at', 'updated_at', 'arch'] as const),
] as const
const shownColumns = listColumns.map((column) => `devices.${column}` as const)

type Base = ReturnType<typeof fromDevices>
const fromDevices = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('devices')
    // Looked up device by device (`offset 0`), regardless of the planner's estimates for the filter.
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('device_activity as a')
          .select(['a.last_seen_at', 'a.applied_digest', 'a.applied_at', 'a.seen_key', 'a.device_id', 'a.tenant_id'])
          .where('a.tenant_id', '=', tenant)
          .whereRef('a.device_id', '=', 'devices.device_id')
          .offset(0)
          .as('activity'),
      (j) => j.onTrue(),
    )
/** The same, ordered by last-seen time. Every device has a row of activity. */
const fromActivity = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('device_activity as activity').innerJoinLateral(
    (eb) =>
      eb
        .selectFrom('devices as d')
        .selectAll('d')
        .where('d.tenant_id', '=', tenant)
        .whereRef('d.device_id', '=', 'activity.device_id')
        .offset(0)
        .as('devices'),
    (j) => j.onTrue(),
  ) as unknown as Base

/** Devices with data from other tables, filtered, for one order of the list. */
export function selectDevices(
  tx: Tx,
  tenant: TenantId,
  deviceFilter: DeviceFilterQuery,
  dense: DenseDeviceFilters,
  sort: Sort = 'enrolled_at',
) {
  const bySeen = sort === 'last_seen_at'
  const { lockedBy, user } = deviceBindings(tenant)
  const { filter, at } = deviceFilter
  let q = (bySeen ? fromActivity : fromDevices)(tx, tenant)
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('device_postures as p')
          .select(['p.verdict', 'p.reported_at'])
          .where('p.tenant_id', '=', tenant)
          .whereRef('p.device_id', '=', 'devices.device_id')
          .offset(0)
          .as('posture'),
      (j) => j.onTrue(),
    )
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('vpn_sessions as s')
          .select(['s.session_id', 's.gateway_id', 's.pool_id', 's.started_at'])
          .where('s.tenant_id', '=', tenant)
          .whereRef('s.device_id', '=', 'devices.device_id')
          .where('s.state', '=', 'active')
          // Lets the planner skip the monthly partitions of ended sessions.
          .where('s.ended_at', 'is', null)
          .orderBy('s.started_at', 'desc')
          .orderBy('s.session_id', 'desc')
          .limit(1)
          .as('session'),
      (j) => j.onTrue(),
    )
    .select(shownColumns)
    .select(['activity.last_seen_at', 'activity.applied_digest', 'activity.applied_at'])
    .select(['posture.verdict', 'posture.reported_at'])
    .select(['session.session_id', 'session.gateway_id', 'session.pool_id', 'session.started_at as session_started_at'])
    .select(presenceOf(deviceFilter.onlineSince).as('presence'))
    .select([sql<LockedBy | null>`${lockedBy}`.as('locked_by'), sql<UserState | null>`${user}`.as('user_state')])
    .where(bySeen ? 'activity.tenant_id' : 'devices.tenant_id', '=', tenant)
  if (filter.effective_status) {
    const status = statusBehind[filter.effective_status]
    if (status) q = q.where('devices.status', '=', status)
    q = q.where(hasEffectiveStatus(tenant, filter.effective_status, at))
  }
  for (const condition of [...deviceRange(deviceFilter, sort), ...deviceConditions(tenant, deviceFilter, dense, sort)])
    q = q.where(condition)
  return q
}

/** Rows that a list visits if a filter matches too many devices for its index: the devices without that filter. */
export const walkDevices = (
  tx: Tx,
  tenant: TenantId,
  deviceFilter: DeviceFilterQuery,
  dense: DenseDeviceFilters,
  sort: Sort,
) => {
  if (dense.size === 0) return undefined
  const { filter } = deviceFilter
  const conditions = deviceRange(deviceFilter, sort)
  if (sort === 'enrolled_at') conditions.push(...plainConditions(filter))
  const status = filter.effective_status && statusBehind[filter.effective_status]
  if (status && sort === 'enrolled_at') conditions.push(sql<boolean>`devices.status = ${status}`)
  let q = (sort === 'last_seen_at' ? bareActivity : bareDevices)(tx, tenant)
  for (const condition of conditions) q = q.where(condition)
  return q
}
const bareDevices = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('devices').select('devices.device_id').where('devices.tenant_id', '=', tenant)
const bareActivity = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('device_activity as activity')
    .select('activity.device_id')
    .where('activity.tenant_id', '=', tenant) as unknown as ReturnType<typeof bareDevices>

export const findDevice = (tx: Tx, tenant: TenantId, deviceId: string, at: Date, onlineSince = at) =>
  selectDevices(tx, tenant, { filter: {}, at, onlineSince, canary: undefined }, new Set())
    .where('devices.device_id', '=', deviceId)
    .executeTakeFirst()

export const findDeviceHits = (tx: Tx, tenant: TenantId, ids: readonly string[], at: Date) =>
  selectDevices(tx, tenant, { filter: {}, at, onlineSince: at, canary: undefined }, new Set())
    .where('devices.device_id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()

/**
 * Devices with an address number in the range. Revoked devices are left out, since their address may have been
 * reassigned.
 */
export const findIdsByAddress = async (
  tx: Tx,
  tenant: TenantId,
  { from, to }: { from: number; to: number },
  most: number,
): Promise<string[]> => {
  const rows = await tx
    .selectFrom('devices')
    .select('device_id')
    .where('tenant_id', '=', tenant)
    .where('status', '<>', 'revoked')
    .where('address_number', '>=', from)
    .where('address_number', '<=', to)
    .orderBy('address_number')
    .limit(most)
    .execute()
  return rows.map((row) => row.device_id)
}
