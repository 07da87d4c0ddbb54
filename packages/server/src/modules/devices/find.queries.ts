import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { fits, hasPrefix, isRare } from '../../db/page.ts'
import type { DeviceStatus, EffectiveStatus, LockedBy, PostureVerdict, UserState } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { bindings, hasEffectiveStatus, statusBehind } from './effective.queries.ts'

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
}

/** What a filter fits, from an index of its own. */
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
  effective_status: (tenant: TenantId, wanted: string) => {
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
  posture: (tenant: TenantId, verdict: string) =>
    fits('device_id', sql`device_postures where tenant_id = ${tenant} and verdict = ${verdict}`, [
      'tenant_id',
      'verdict',
      'device_id',
    ]),
}
const sought = ['q', 'tag', 'group_id', 'posture', 'effective_status'] as const
/** Filters that fit so many devices that a walk in the list's order finds a page sooner than their index. */
type Dense = ReadonlySet<(typeof sought)[number]>
export async function denseFilters(tx: Tx, tenant: TenantId, f: DeviceFilter): Promise<Dense> {
  const dense = new Set<(typeof sought)[number]>()
  for (const name of sought) {
    const value = f[name]
    if (value === undefined) continue
    // Whoever never reported is unknown too, and in no index.
    if (value === 'unknown' && name === 'posture') dense.add(name)
    // What most devices are, or what their own status says, is walked.
    else if (name === 'effective_status' && value !== 'locked' && value !== 'user_suspended') dense.add(name)
    else if (!(await isRare(tx, fitting[name](tenant, value)))) dense.add(name)
  }
  return dense
}

/** What is shown of a device; its key, for one, is not. */
const shown = [
  ...(['tenant_id', 'device_id', 'user_id', 'name', 'platform', 'os_version', 'client_version', 'serial'] as const),
  ...(['tags', 'group_ids', 'status', 'channel', 'jkt', 'wireguard_public_key', 'address_number'] as const),
  ...(['credential_expires_at', 'credential_renew_after', 'enrolled_method', 'token_id', 'provider_id'] as const),
  ...(['enrolled_at', 'updated_at', 'arch'] as const),
] as const
const shownColumns = shown.map((column) => `devices.${column}` as const)

/** Devices with their hot columns, filtered. Ids in the filter are UUIDs. */
export function selectDevices(tx: Tx, tenant: TenantId, f: DeviceFilter, dense: Dense, at: Date) {
  const { lockedBy, user } = bindings(tenant)
  let q = tx
    .selectFrom('devices')
    // Looked up device by device (offset 0), whatever the planner thinks of the filter.
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('device_activity as a')
          .select(['a.last_seen_at', 'a.applied_digest', 'a.applied_at'])
          .where('a.tenant_id', '=', tenant)
          .whereRef('a.device_id', '=', 'devices.device_id')
          .offset(0)
          .as('activity'),
      (j) => j.onTrue(),
    )
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
    .select(shownColumns)
    .select(['activity.last_seen_at', 'activity.applied_digest', 'activity.applied_at'])
    .select(['posture.verdict', 'posture.reported_at'])
    .select([sql<LockedBy | null>`${lockedBy}`.as('locked_by'), sql<UserState | null>`${user}`.as('user_state')])
    .where('devices.tenant_id', '=', tenant)
  if (f.status) q = q.where('devices.status', '=', f.status)
  if (f.effective_status) {
    const status = statusBehind[f.effective_status]
    if (status) q = q.where('devices.status', '=', status)
    q = q.where(hasEffectiveStatus(tenant, f.effective_status, at))
  }
  if (f.user_id) q = q.where('devices.user_id', '=', f.user_id)
  if (f.platform) q = q.where('devices.platform', '=', f.platform)
  if (f.token_id) q = q.where('devices.token_id', '=', f.token_id)
  if (f.provider_id) q = q.where('devices.provider_id', '=', f.provider_id)
  for (const name of sought) {
    const value = f[name]
    if (value !== undefined && !dense.has(name))
      q = q.where(sql<boolean>`devices.device_id = any(array(${fitting[name](tenant, value)}))`)
  }
  // Looked up device by device (offset 0): the walk ends long before a whole group was worth reading.
  if (f.tag && dense.has('tag')) q = q.where(sql<boolean>`${f.tag} = any(devices.tags)`)
  if (f.q && dense.has('q')) q = q.where(hasPrefix('devices.name_key', f.q))
  if (f.posture && dense.has('posture')) q = q.where(hasVerdict(f.posture))
  if (f.group_id && dense.has('group_id'))
    q = q.where(sql<boolean>`(${f.group_id}::uuid = any(devices.group_ids) or exists (
      select from group_members m where m.tenant_id = devices.tenant_id and m.user_id = devices.user_id
        and m.group_id = ${f.group_id}::uuid offset 0))`)
  return q
}

const hasVerdict = (verdict: PostureVerdict) => {
  const said = (condition: ReturnType<typeof sql>) => sql<boolean>`exists (select from device_postures p
    where p.tenant_id = devices.tenant_id and p.device_id = devices.device_id and ${condition} offset 0)`
  return verdict === 'unknown'
    ? sql<boolean>`not ${said(sql`p.verdict <> 'unknown'`)}`
    : said(sql`p.verdict = ${verdict}`)
}

/** What a list walks when a filter fits so many that no index serves it: its devices without that filter. */
export const walkDevices = (tx: Tx, tenant: TenantId, f: DeviceFilter, dense: Dense) => {
  if (dense.size === 0) return undefined
  let q = tx.selectFrom('devices').select('devices.device_id').where('devices.tenant_id', '=', tenant)
  for (const column of ['status', 'user_id', 'platform', 'token_id', 'provider_id'] as const) {
    const value = f[column]
    if (value) q = q.where(`devices.${column}`, '=', value)
  }
  const status = f.effective_status && statusBehind[f.effective_status]
  if (status) q = q.where('devices.status', '=', status)
  return q
}

export const findDevice = (tx: Tx, tenant: TenantId, deviceId: string, at: Date) =>
  selectDevices(tx, tenant, {}, new Set(), at).where('devices.device_id', '=', deviceId).executeTakeFirst()
