import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { countedExactly } from '../../db/facets.ts'
import { few, fits, hasPrefix, isRare } from '../../db/page.ts'
import type { DeviceStatus, EffectiveStatus, PostureVerdict, Presence } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { fittingUpTo } from './fitting.queries.ts'
import { presenceOf, seenKey } from './presence.queries.ts'

/** IDs are UUIDs. */
export type DeviceFilter = {
  q?: string
  status?: DeviceStatus
  effective_status?: EffectiveStatus
  user_id?: string
  group_id?: string
  platform?: string
  tag?: string
  token_id?: string
  provider_id?: string
  posture?: PostureVerdict
  presence?: Presence
  seen_within?: Date
  unseen_for?: Date
  client_version?: string
  client_version_before?: string
  os_version?: string
  arch?: string
  channel?: 'canary' | 'stable'
  gateway_id?: string
}
/** Targets of a running policy canary, and the salt for its percentage. */
export type CanaryReach = {
  salt: Buffer
  percent: number
  groupIds: ReadonlySet<string>
  deviceIds: ReadonlySet<string>
}
/** A filter with the values needed to evaluate it. */
export type DeviceFilterQuery = { filter: DeviceFilter; at: Date; canary: CanaryReach | undefined; onlineSince: Date }

const searched = [
  ...(['q', 'tag', 'group_id', 'posture', 'effective_status', 'presence', 'seen_within', 'unseen_for'] as const),
  ...(['client_version', 'client_version_before', 'os_version', 'gateway_id'] as const),
] as const
type Sought = (typeof searched)[number]
/** Columns of `devices` with an index in the order of `enrolled_at` only. */
const plain = ['status', 'user_id', 'platform', 'token_id', 'provider_id'] as const
type Plain = (typeof plain)[number]
/** Filters without any index. */
const unindexed = ['arch', 'channel'] as const
/** `Dense`: filters that match so many devices that a walk in list order finds a page sooner than their index. */
type Filter = Sought | Plain | (typeof unindexed)[number]
export type DenseDeviceFilters = ReadonlySet<Filter>
export type Sort = 'enrolled_at' | 'name' | 'last_seen_at' | 'client_version'

const fitting = fittingUpTo(few)
const fittingOf = (tenant: TenantId, { filter, onlineSince }: DeviceFilterQuery, name: Sought, of = fitting) =>
  (of[name] as (tenant: TenantId, value: unknown, onlineSince: Date) => ReturnType<typeof sql>)(
    tenant,
    filter[name],
    onlineSince,
  )

/** True if the filter also matches devices that its index lacks, or matches most devices. */
const isSurelyDense = ({ posture, effective_status }: DeviceFilter, name: Sought): boolean => {
  // A device without a report is unknown too.
  if (name === 'posture') return posture === 'unknown'
  // These two depend on locks and users. The others are mostly determined by the device's own status.
  if (name === 'effective_status') return effective_status !== 'locked' && effective_status !== 'user_suspended'
  return false
}

/** The order ends with a column that is not the same in all of them: the planner leaves out the others. */
const ofPlain = (tenant: TenantId, { filter }: DeviceFilterQuery, name: Plain, most: number) =>
  fits(
    'device_id',
    sql`devices where tenant_id = ${tenant} and ${sql.ref(name)} = ${filter[name]}`,
    ['tenant_id', name, name === 'user_id' ? 'device_id' : 'enrolled_at'],
    most,
  )

export async function denseDeviceFilters(
  tx: Tx,
  tenant: TenantId,
  deviceFilter: DeviceFilterQuery,
  sort: Sort,
): Promise<DenseDeviceFilters> {
  const dense = new Set<Filter>()
  if (sort !== 'enrolled_at')
    for (const name of plain)
      if (deviceFilter.filter[name] !== undefined && !(await isRare(tx, ofPlain(tenant, deviceFilter, name, few))))
        dense.add(name)
  for (const name of unindexed) if (deviceFilter.filter[name] !== undefined) dense.add(name)
  for (const name of searched) {
    if (deviceFilter.filter[name] === undefined) continue
    if (isSurelyDense(deviceFilter.filter, name) || !(await isRare(tx, fittingOf(tenant, deviceFilter, name))))
      dense.add(name)
  }
  return dense
}

const fittingToCount = fittingUpTo(countedExactly)
/** Sets of device IDs, each of which includes all matches of the filter, at most one more than are counted exactly. */
export function candidateDevices(tenant: TenantId, deviceFilter: DeviceFilterQuery) {
  const { filter } = deviceFilter
  return [
    ...plain
      .filter((name) => filter[name] !== undefined)
      .map((name) => ofPlain(tenant, deviceFilter, name, countedExactly)),
    ...searched
      .filter((name) => filter[name] !== undefined && !isSurelyDense(filter, name))
      .map((name) => fittingOf(tenant, deviceFilter, name, fittingToCount)),
    fits('device_id', sql`devices where tenant_id = ${tenant}`, ['tenant_id', 'enrolled_at'], countedExactly),
  ]
}
/** Every condition is evaluated device by device. */
export const allDeviceFilters = ({ filter }: DeviceFilterQuery): DenseDeviceFilters =>
  new Set([...searched, ...plain, ...unindexed].filter((name) => filter[name] !== undefined))

/** Conditions on columns that have an index in the order of `enrolled_at`. */
export const plainConditions = (filter: DeviceFilter) =>
  plain.flatMap((name) =>
    filter[name] === undefined ? [] : [sql<boolean>`${sql.ref(`devices.${name}`)} = ${filter[name]}`],
  )

/**
 * Effective channel of a row of `devices`. `TenantPolicy.reaches` computes the same for one device. A revoked device
 * gets no canary.
 */
export function channelOf(tenant: TenantId, canary: CanaryReach | undefined) {
  if (!canary) return sql<'canary' | 'stable'>`'stable'`
  const { salt, percent, groupIds, deviceIds } = canary
  const groups = sql`${[...groupIds]}::uuid[]`
  return sql<'canary' | 'stable'>`case
    when devices.status = 'revoked' or devices.channel = 'stable' then 'stable'
    when devices.channel = 'canary' or devices.device_id = any(${[...deviceIds]}::uuid[]) or devices.group_ids && ${groups}
      or exists (select from group_members m where m.tenant_id = ${tenant} and m.user_id = devices.user_id
        and m.group_id = any(${groups}) offset 0)
      or ('x' || encode(substr(sha256(${salt}::bytea || '\\x1f'::bytea || convert_to(devices.device_id::text, 'UTF8')), 1, 4),
        'hex'))::bit(32)::bigint % 10000 < ${percent * 100}::float8 then 'canary'
    else 'stable' end`
}

/** No policy applies to a revoked device. Its last report does not count, and its verdict is unknown. */
const hasVerdict = (verdict: PostureVerdict) => {
  const reportCondition = (condition: ReturnType<typeof sql>) => sql<boolean>`exists (select from device_postures p
    where p.tenant_id = devices.tenant_id and p.device_id = devices.device_id and ${condition} offset 0)`
  return verdict === 'unknown'
    ? sql<boolean>`(devices.status = 'revoked' or not ${reportCondition(sql`p.verdict <> 'unknown'`)})`
    : sql<boolean>`(devices.status <> 'revoked' and ${reportCondition(sql`p.verdict = ${verdict}`)})`
}

/** All other conditions of a filter. `offset 0` makes the planner evaluate a condition device by device. */
export function deviceConditions(
  tenant: TenantId,
  deviceFilter: DeviceFilterQuery,
  dense: DenseDeviceFilters,
  sort: Sort,
) {
  const { filter: f } = deviceFilter
  const all = [...ownConditions(tenant, deviceFilter, dense), ...joinedConditions(deviceFilter)]
  const id = sql.ref(sort === 'last_seen_at' ? 'activity.device_id' : 'devices.device_id')
  const isAmong = (ids: ReturnType<typeof sql>) => sql<boolean>`${id} = any(array(${ids}))`
  for (const name of searched)
    if (f[name] !== undefined && !dense.has(name)) all.push(isAmong(fittingOf(tenant, deviceFilter, name)))
  if (sort !== 'enrolled_at')
    for (const name of plain)
      if (f[name] !== undefined && !dense.has(name)) all.push(isAmong(ofPlain(tenant, deviceFilter, name, few)))
  return all
}

/** Conditions on a row of `devices` alone. */
export function ownConditions(tenant: TenantId, { filter: f, canary }: DeviceFilterQuery, dense: DenseDeviceFilters) {
  const all = plainConditions(f)
  if (f.tag && dense.has('tag')) all.push(sql`${f.tag} = any(devices.tags)`)
  if (f.q && dense.has('q')) all.push(hasPrefix('devices.name_key', f.q))
  if (f.posture) all.push(hasVerdict(f.posture))
  if (f.group_id && dense.has('group_id'))
    all.push(sql`(${f.group_id}::uuid = any(devices.group_ids) or exists (
      select from group_members m where m.tenant_id = devices.tenant_id and m.user_id = devices.user_id
        and m.group_id = ${f.group_id}::uuid offset 0))`)
  if (f.client_version !== undefined) all.push(sql`devices.client_version = ${f.client_version}`)
  if (f.client_version_before && dense.has('client_version_before'))
    all.push(
      sql`devices.client_version_key >= '1' and devices.client_version_key < version_key(${f.client_version_before})`,
    )
  if (f.os_version !== undefined) all.push(sql`devices.os_version = ${f.os_version}`)
  // As a sub-select: with the column's statistics the planner would read all devices even if few match.
  if (f.arch) all.push(sql`(select devices.arch offset 0) = ${f.arch}`)
  if (f.channel) all.push(sql`${channelOf(tenant, canary)} = ${f.channel}`)
  return all
}

/** Conditions on the joins `activity` and `session` of a device. */
export function joinedConditions({ filter: f, onlineSince }: DeviceFilterQuery) {
  const all: ReturnType<typeof sql<boolean>>[] = []
  if (f.presence) all.push(sql`${presenceOf(onlineSince)} = ${f.presence}`)
  if (f.seen_within) all.push(sql`activity.last_seen_at >= ${f.seen_within}`)
  if (f.unseen_for) all.push(sql`(activity.last_seen_at is null or activity.last_seen_at < ${f.unseen_for})`)
  if (f.gateway_id) all.push(sql`session.gateway_id = ${f.gateway_id}::uuid`)
  return all
}

/** Range of the sort column that contains all matches. A walk begins and ends there. */
export function deviceRange({ filter: f, onlineSince }: DeviceFilterQuery, sort: Sort) {
  const all: ReturnType<typeof sql<boolean>>[] = []
  if (sort === 'name' && f.q) all.push(hasPrefix('devices.name_key', f.q))
  if (sort === 'client_version' && f.client_version !== undefined)
    all.push(sql`devices.client_version_key = version_key(${f.client_version})`)
  if (sort === 'client_version' && f.client_version_before)
    all.push(
      sql`devices.client_version_key >= '1' and devices.client_version_key < version_key(${f.client_version_before})`,
    )
  if (sort !== 'last_seen_at') return all
  if (f.presence === 'never') all.push(sql`activity.seen_key = '-infinity'`)
  if (f.presence === 'offline')
    all.push(sql`activity.seen_key > '-infinity' and activity.seen_key <= ${seenKey(onlineSince)}`)
  if (f.seen_within) all.push(sql`activity.seen_key >= ${seenKey(f.seen_within)}`)
  if (f.unseen_for) all.push(sql`activity.seen_key <= ${seenKey(f.unseen_for)}`)
  return all
}
