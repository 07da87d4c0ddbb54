import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { countByFacet, type FacetRow } from '../../db/facets.ts'
import { fits, isRare } from '../../db/page.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { effectiveStatus, hasEffectiveStatus, statusBehind } from './effective.queries.ts'
import {
  allDeviceFilters,
  channelOf,
  type DeviceFilterQuery,
  joinedConditions,
  ownConditions,
} from './filter.queries.ts'
import { presenceOf } from './presence.queries.ts'

/** Condition on a row of `devices` that the devices to examine fulfil. An index finds them. */
export type Examined = RawBuilder<unknown>

const every = (conditions: readonly RawBuilder<unknown>[]) => sql.join([sql`true`, ...conditions], sql` and `)

/** Examined devices that match the conditions on their own row, with these columns besides their ID. */
function selectExamined(
  tenant: TenantId,
  deviceFilter: DeviceFilterQuery,
  examined: Examined,
  columns: readonly RawBuilder<unknown>[],
) {
  const { effective_status: wanted } = deviceFilter.filter
  const conditions: RawBuilder<unknown>[] = ownConditions(tenant, deviceFilter, allDeviceFilters(deviceFilter))
  const status = wanted && statusBehind[wanted]
  if (status) conditions.push(sql`devices.status = ${status}`)
  if (wanted) conditions.push(hasEffectiveStatus(tenant, wanted, deviceFilter.at))
  return sql`
    select ${sql.join([sql`devices.device_id`, ...columns])} from devices
    where devices.tenant_id = ${tenant} and ${examined} and ${every(conditions)}`
}

/**
 * Rows of other tables of the examined devices. Each table is read by the IDs of all devices at once, since a look-up
 * per device reads the upper pages of the index each time.
 */
const activityAndSession = (tenant: TenantId) => sql`
    left join (
      select a.device_id, a.last_seen_at from device_activity a
      where a.tenant_id = ${tenant} and a.device_id = any(array(select device_id from examined))) as activity
    on activity.device_id = devices.device_id
    left join (
      select distinct on (s.device_id) s.device_id, s.session_id, s.gateway_id from vpn_sessions s
      where s.tenant_id = ${tenant} and s.device_id = any(array(select device_id from examined))
        and s.state = 'active' and s.ended_at is null
      order by s.device_id, s.started_at desc, s.session_id desc) as session
    on session.device_id = devices.device_id`

/** Examined devices that match the filter. Reads only the tables that the filter concerns. */
export function selectMatchingDevices(tenant: TenantId, deviceFilter: DeviceFilterQuery, examined: Examined) {
  const conditions = joinedConditions(deviceFilter)
  const own = selectExamined(tenant, deviceFilter, examined, [])
  if (conditions.length === 0) return own
  return sql`
    with examined as materialized (${own})
    select devices.device_id from examined as devices ${activityAndSession(tenant)} where ${every(conditions)}`
}

/** The same, with the value of each facet. */
function selectFacetValues(tenant: TenantId, deviceFilter: DeviceFilterQuery, examined: Examined) {
  const { filter, at, canary, onlineSince } = deviceFilter
  const columns = [
    ...['user_id', 'status', 'platform', 'client_version', 'os_version', 'tags', 'group_ids'].map((name) =>
      sql.ref(`devices.${name}`),
    ),
    // The value of a filter is known.
    sql`${filter.effective_status ? sql`${filter.effective_status}::text` : effectiveStatus(tenant, at)} as effective_status`,
    sql`${filter.channel ? sql`${filter.channel}::text` : channelOf(tenant, canary)} as effective_channel`,
  ]
  return sql`
    with examined as materialized (${selectExamined(tenant, deviceFilter, examined, columns)})
    select devices.*, ${presenceOf(onlineSince)} as presence,
      case when devices.status = 'revoked' then 'unknown' else coalesce(posture.verdict, 'unknown') end as verdict
    from examined as devices ${activityAndSession(tenant)}
    left join (
      select p.device_id, p.verdict from device_postures p
      where p.tenant_id = ${tenant} and p.device_id = any(array(select device_id from examined))) as posture
    on posture.device_id = devices.device_id
    where ${every(joinedConditions(deviceFilter))}`
}

/** Counts the examined devices that match the filter, by value. */
export function countDeviceFacets(
  tx: Tx,
  tenant: TenantId,
  deviceFilter: DeviceFilterQuery,
  examined: Examined,
  mostValues: number,
): Promise<FacetRow[]> {
  const counted = sql`
    select s.facet, s.value, count(*) from matched m, lateral (values
        ('status', m.status), ('effective_status', m.effective_status), ('presence', m.presence),
        ('posture', m.verdict), ('platform', m.platform), ('channel', m.effective_channel),
        ('client_version', coalesce(m.client_version, '')), ('os_version', coalesce(m.os_version, '')))
      as s (facet, value) group by 1, 2
    union all
    select 'tag', t.tag, count(*) from matched m, unnest(m.tags) as t (tag) group by t.tag
    union all
    select 'group_id', g.group_id::text, count(*) from (
      select m.device_id, o.group_id from matched m, unnest(m.group_ids) as o (group_id)
      union
      select m.device_id, gm.group_id from matched m join (
        select user_id, group_id from group_members
        where tenant_id = ${tenant} and user_id = any(array(select distinct user_id from matched))) as gm
      on gm.user_id = m.user_id) as g group by g.group_id`
  return countByFacet(tx, selectFacetValues(tenant, deviceFilter, examined), counted, mostValues)
}

export const withIdsOf = (ids: RawBuilder<unknown>): Examined => sql`devices.device_id = any(array(${ids}))`
export const withAddresses = (addresses: readonly number[]): Examined =>
  sql`devices.address_number = any(${addresses}::bigint[])`

/** True if at most `most` devices have these addresses. Revoked devices can share an address with others. */
export const areFewWithAddresses = (tx: Tx, tenant: TenantId, addresses: readonly number[], most: number) =>
  isRare(
    tx,
    fits(
      'address_number',
      sql`devices where tenant_id = ${tenant} and ${withAddresses(addresses)}`,
      ['tenant_id', 'address_number'],
      most,
    ),
    most,
  )

/** Highest address number assigned to a device of the tenant. */
export const highestAddress = async (tx: Tx, tenant: TenantId): Promise<number> => {
  const row = await tx
    .selectFrom('devices')
    .select('address_number')
    .where('tenant_id', '=', tenant)
    .orderBy('address_number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.address_number ?? 0
}
