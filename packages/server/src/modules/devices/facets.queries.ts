import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { countByFacet, type FacetRow } from '../../db/facets.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { effectiveStatus } from './effective.queries.ts'
import { allDeviceFilters, channelOf, type DeviceFilterQuery } from './filter.queries.ts'
import { selectDevices } from './find.queries.ts'

/** Devices to examine: by ID, or by sampled address numbers. */
export type Looked = { candidates: ReturnType<typeof sql> } | { addresses: readonly number[] }

/** Counts the examined devices that match the filter, by value. */
export function countDeviceFacets(
  tx: Tx,
  tenant: TenantId,
  judged: DeviceFilterQuery,
  looked: Looked,
  mostValues: number,
): Promise<FacetRow[]> {
  const { at, canary } = judged
  const matched = selectMatchingDevices(tx, tenant, judged, looked)
    .select(effectiveStatus(tenant, at).as('effective_status'))
    .select(channelOf(tenant, canary).as('effective_channel'))
  const counted = sql`
    select s.facet, s.value, count(*) from matched m, lateral (values
        ('status', m.status), ('effective_status', m.effective_status), ('presence', m.presence),
        ('posture', case when m.status = 'revoked' then 'unknown' else coalesce(m.verdict, 'unknown') end), ('platform', m.platform), ('channel', m.effective_channel),
        ('client_version', coalesce(m.client_version, '')), ('os_version', coalesce(m.os_version, '')))
      as s (facet, value) group by 1, 2
    union all
    select 'tag', t.tag, count(*) from matched m, unnest(m.tags) as t (tag) group by t.tag
    union all
    select 'group_id', g.group_id::text, count(*) from (
      select m.device_id, o.group_id from matched m, unnest(m.group_ids) as o (group_id)
      union
      select m.device_id, gm.group_id from matched m
        join group_members gm on gm.tenant_id = ${tenant} and gm.user_id = m.user_id) as g group by g.group_id`
  return countByFacet(tx, matched, counted, mostValues)
}

/** Examined devices that match the filter. */
export const selectMatchingDevices = (tx: Tx, tenant: TenantId, judged: DeviceFilterQuery, looked: Looked) =>
  selectDevices(tx, tenant, judged, allDeviceFilters(judged)).where(
    'candidates' in looked
      ? sql<boolean>`devices.device_id = any(array(${looked.candidates}))`
      : sql<boolean>`devices.address_number = any(${looked.addresses}::bigint[])`,
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
