import { onlineSeconds } from '@holdfast/contract/devices'
import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { fits, hasPrefix, isRare } from '../../db/page.ts'
import type { DeviceStatus, EffectiveStatus, PostureVerdict } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type Presence = 'online' | 'offline' | 'never'
/** Ids are UUIDs. */
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
/** To whom a policy canary that is under way goes, and what its percentage is drawn with. */
export type CanaryReach = {
  salt: Buffer
  percent: number
  groupIds: ReadonlySet<string>
  deviceIds: ReadonlySet<string>
}
/** A filter, and with what it is judged. */
export type Judged = { filter: DeviceFilter; at: Date; canary: CanaryReach | undefined }

const onlineSince = (at: Date) => new Date(at.getTime() - onlineSeconds * 1000)
/** `device_activity.seen_key` of a time: rows that were seen then or later have this key or a later one. */
const seenKey = (at: Date) => sql`date_bin('5 minutes', ${at}::timestamptz, to_timestamp(0))`

/** What a filter fits, from an index of its own. It may be more than fits: the exact condition applies too. */
const fitting = {
  q: (tenant: TenantId, q: string) =>
    fits('device_id', sql`devices where tenant_id = ${tenant} and ${hasPrefix('name_key', q)}`, [
      'tenant_id',
      'name_key',
    ]),
  tag: (tenant: TenantId, tag: string) =>
    fits('device_id', sql`device_tags where tenant_id = ${tenant} and tag = ${tag}`, ['tenant_id', 'tag', 'device_id']),
  group_id: (tenant: TenantId, group: string) =>
    sql`${fits('device_id', sql`device_groups where tenant_id = ${tenant} and group_id = ${group}::uuid`, [
      'tenant_id',
      'group_id',
      'device_id',
    ])} union all ${fits(
      'd.device_id',
      sql`group_members m join devices d on d.tenant_id = m.tenant_id and d.user_id = m.user_id
        where m.tenant_id = ${tenant} and m.group_id = ${group}::uuid`,
      ['m.tenant_id', 'm.group_id', 'm.user_id'],
    )}`,
  effective_status: (tenant: TenantId, wanted: EffectiveStatus) => {
    const ofUsers = (from: string, which: ReturnType<typeof sql>, inOrder: readonly string[]) =>
      fits(
        'd.device_id',
        sql`${sql.table(from)} u join devices d on d.tenant_id = u.tenant_id and d.user_id = u.user_id
          where u.tenant_id = ${tenant} and d.status <> 'revoked' and ${which}`,
        inOrder,
      )
    if (wanted === 'user_suspended')
      return ofUsers('users', sql`u.status = 'suspended'`, ['u.tenant_id', 'u.status', 'u.created_at', 'u.user_id'])
    const locked = (type: string) => sql`select * from locked_targets(${tenant}, ${type})`
    const of = (table: string, which: ReturnType<typeof sql>, inOrder: readonly string[]) =>
      fits('device_id', sql`${sql.table(table)} where tenant_id = ${tenant} and ${which}`, inOrder)
    return sql.join(
      [
        of('devices', sql`exists (${locked('tenant')})`, ['device_id']),
        of('devices', sql`device_id in (${locked('device')})`, ['device_id']),
        of('device_groups', sql`group_id in (${locked('group')})`, ['group_id']),
        ofUsers('users', sql`u.user_id in (${locked('user')})`, ['u.user_id']),
        ofUsers('group_members', sql`u.group_id in (${locked('group')})`, ['u.group_id']),
      ],
      sql` union all `,
    )
  },
  posture: (tenant: TenantId, verdict: PostureVerdict) =>
    fits('device_id', sql`device_postures where tenant_id = ${tenant} and verdict = ${verdict}`, [
      'tenant_id',
      'verdict',
      'device_id',
    ]),
  presence: (tenant: TenantId, presence: Presence, at: Date) => {
    if (presence === 'never') return seen(tenant, sql`seen_key = '-infinity'`)
    const since = seenKey(onlineSince(at))
    if (presence === 'offline') return seen(tenant, sql`seen_key > '-infinity' and seen_key <= ${since}`)
    const open = sql`vpn_sessions where tenant_id = ${tenant} and state = 'active' and ended_at is null`
    return sql`${seen(tenant, sql`seen_key >= ${since}`)} union all
      ${fits('device_id', open, ['tenant_id', 'started_at', 'session_id'])}`
  },
  seen_within: (tenant: TenantId, since: Date) => seen(tenant, sql`seen_key >= ${seenKey(since)}`),
  unseen_for: (tenant: TenantId, before: Date) => seen(tenant, sql`seen_key <= ${seenKey(before)}`),
  client_version: (tenant: TenantId, version: string) => ofVersion(tenant, sql`= version_key(${version})`),
  client_version_before: (tenant: TenantId, version: string) =>
    ofVersion(tenant, sql`>= '1' and client_version_key < version_key(${version})`),
  os_version: (tenant: TenantId, version: string) =>
    fits('device_id', sql`devices where tenant_id = ${tenant} and os_version = ${version}`, [
      'tenant_id',
      'os_version',
      'device_id',
    ]),
  gateway_id: (tenant: TenantId, gateway: string) =>
    fits(
      'device_id',
      sql`vpn_sessions where tenant_id = ${tenant} and gateway_id = ${gateway}::uuid
        and state = 'active' and ended_at is null`,
      ['tenant_id', 'gateway_id', 'state', 'started_at', 'session_id'],
    ),
}
const seen = (tenant: TenantId, which: ReturnType<typeof sql>) =>
  fits('device_id', sql`device_activity where tenant_id = ${tenant} and ${which}`, [
    'tenant_id',
    'seen_key',
    'device_id',
  ])
const ofVersion = (tenant: TenantId, which: ReturnType<typeof sql>) =>
  fits('device_id', sql`devices where tenant_id = ${tenant} and client_version_key ${which}`, [
    'tenant_id',
    'client_version_key',
    'device_id',
  ])

const sought = [
  ...(['q', 'tag', 'group_id', 'posture', 'effective_status', 'presence', 'seen_within', 'unseen_for'] as const),
  ...(['client_version', 'client_version_before', 'os_version', 'gateway_id'] as const),
] as const
type Sought = (typeof sought)[number]
/** Filters that no index serves at all. */
const unindexed = ['arch', 'channel'] as const
/** Filters that fit so many devices that a walk in the list's order finds a page sooner than their index. */
export type Dense = ReadonlySet<Sought | (typeof unindexed)[number]>

const fittingOf = (tenant: TenantId, { filter, at }: Judged, name: Sought) =>
  (fitting[name] as (tenant: TenantId, value: unknown, at: Date) => ReturnType<typeof sql>)(tenant, filter[name], at)

/** Whether the filter fits devices that are in no index of it, or most devices. */
const isSurelyDense = ({ posture, effective_status }: DeviceFilter, name: Sought): boolean => {
  // A device without a report is unknown too.
  if (name === 'posture') return posture === 'unknown'
  // The device's own status says most of it.
  if (name === 'effective_status') return effective_status !== 'locked' && effective_status !== 'user_suspended'
  return false
}

export async function denseFilters(tx: Tx, tenant: TenantId, judged: Judged): Promise<Dense> {
  const dense = new Set<Sought | (typeof unindexed)[number]>()
  for (const name of unindexed) if (judged.filter[name] !== undefined) dense.add(name)
  for (const name of sought) {
    if (judged.filter[name] === undefined) continue
    if (isSurelyDense(judged.filter, name) || !(await isRare(tx, fittingOf(tenant, judged, name)))) dense.add(name)
  }
  return dense
}

const plain = ['status', 'user_id', 'platform', 'token_id', 'provider_id'] as const
/** The conditions that columns of `devices` with an index meet in any order of the list. */
export const plainConditions = (filter: DeviceFilter) =>
  plain.flatMap((name) =>
    filter[name] === undefined ? [] : [sql<boolean>`${sql.ref(`devices.${name}`)} = ${filter[name]}`],
  )

/** Of `devices`, `activity` and `session`, as `selectDevices` joins them. */
export const presenceOf = (at: Date) => sql<Presence>`case
  when session.session_id is not null or activity.last_seen_at >= ${onlineSince(at)} then 'online'
  when activity.last_seen_at is null then 'never' else 'offline' end`

/** The effective channel of `devices`; `TenantPolicy.reaches` says the same of one. A revoked device gets no canary. */
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

const hasVerdict = (verdict: PostureVerdict) => {
  const said = (condition: ReturnType<typeof sql>) => sql<boolean>`exists (select from device_postures p
    where p.tenant_id = devices.tenant_id and p.device_id = devices.device_id and ${condition} offset 0)`
  return verdict === 'unknown'
    ? sql<boolean>`not ${said(sql`p.verdict <> 'unknown'`)}`
    : said(sql`p.verdict = ${verdict}`)
}

/** All other conditions of a filter. What is looked up device by device says `offset 0`, whatever the planner thinks. */
export function conditionsOf(tenant: TenantId, { filter: f, at, canary }: Judged, dense: Dense) {
  const all: ReturnType<typeof sql<boolean>>[] = []
  for (const name of sought)
    if (f[name] !== undefined && !dense.has(name))
      all.push(sql`devices.device_id = any(array(${fittingOf(tenant, { filter: f, at, canary }, name)}))`)
  if (f.tag && dense.has('tag')) all.push(sql`${f.tag} = any(devices.tags)`)
  if (f.q && dense.has('q')) all.push(hasPrefix('devices.name_key', f.q))
  if (f.posture && dense.has('posture')) all.push(hasVerdict(f.posture))
  if (f.group_id && dense.has('group_id'))
    all.push(sql`(${f.group_id}::uuid = any(devices.group_ids) or exists (
      select from group_members m where m.tenant_id = devices.tenant_id and m.user_id = devices.user_id
        and m.group_id = ${f.group_id}::uuid offset 0))`)
  if (f.presence) all.push(sql`${presenceOf(at)} = ${f.presence}`)
  if (f.seen_within) all.push(sql`activity.last_seen_at >= ${f.seen_within}`)
  if (f.unseen_for) all.push(sql`(activity.last_seen_at is null or activity.last_seen_at < ${f.unseen_for})`)
  if (f.client_version !== undefined) all.push(sql`devices.client_version = ${f.client_version}`)
  if (f.client_version_before && dense.has('client_version_before'))
    all.push(
      sql`devices.client_version_key >= '1' and devices.client_version_key < version_key(${f.client_version_before})`,
    )
  if (f.os_version !== undefined) all.push(sql`devices.os_version = ${f.os_version}`)
  if (f.arch) all.push(sql`devices.arch = ${f.arch}`)
  if (f.channel) all.push(sql`${channelOf(tenant, canary)} = ${f.channel}`)
  if (f.gateway_id) all.push(sql`session.gateway_id = ${f.gateway_id}::uuid`)
  return all
}
