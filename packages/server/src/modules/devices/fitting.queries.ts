import { sql } from 'kysely'
import { fits as fitsUpTo, hasPrefix } from '../../db/page.ts'
import type { EffectiveStatus, PostureVerdict, Presence } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { seenKey } from './presence.queries.ts'

/**
 * Devices that a filter matches, from the filter's own index, at most `most` + 1. May include others: the exact
 * condition also applies.
 */
export const fittingUpTo = (most: number) => {
  const fits = (column: string, from: ReturnType<typeof sql>, inIndexOrder: readonly string[]) =>
    fitsUpTo(column, from, inIndexOrder, most)
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
  /**
   * Devices of the first `most` + 1 of some users. A user without a device counts too, as it costs a look-up.
   * `offset 0` keeps the planner from a join that reads all devices.
   */
  const ofUsers = (tenant: TenantId, from: ReturnType<typeof sql>, inIndexOrder: readonly string[]) => sql`(
    select d.device_id as found from ${fitsUpTo('user_id', from, inIndexOrder, most)} u left join lateral (
      select device_id from devices where tenant_id = ${tenant} and user_id = u.found offset 0) d on true
    limit ${most + 1})`
  return {
    q: (tenant: TenantId, q: string) =>
      fits('device_id', sql`devices where tenant_id = ${tenant} and ${hasPrefix('name_key', q)}`, [
        'tenant_id',
        'name_key',
      ]),
    tag: (tenant: TenantId, tag: string) =>
      fits('device_id', sql`device_tags where tenant_id = ${tenant} and tag = ${tag}`, [
        'tenant_id',
        'tag',
        'device_id',
      ]),
    group_id: (tenant: TenantId, group: string) =>
      sql`${fits('device_id', sql`device_groups where tenant_id = ${tenant} and group_id = ${group}::uuid`, [
        'tenant_id',
        'group_id',
        'device_id',
      ])} union all ${ofUsers(tenant, sql`group_members where tenant_id = ${tenant} and group_id = ${group}::uuid`, [
        'tenant_id',
        'group_id',
        'user_id',
      ])}`,
    effective_status: (tenant: TenantId, wanted: EffectiveStatus) => {
      if (wanted === 'user_suspended')
        return ofUsers(tenant, sql`users where tenant_id = ${tenant} and status = 'suspended'`, [
          'tenant_id',
          'status',
          'created_at',
          'user_id',
        ])
      // As arrays, which an index finds one by one. A join could read a whole table for a few locks.
      const locked = (type: string) => sql`array(select * from locked_targets(${tenant}, ${type}))`
      const isLocked = (table: string, id: string) =>
        sql`${sql.table(table)} where tenant_id = ${tenant} and ${sql.ref(id)} = any(${locked(id.replace('_id', ''))})`
      return sql.join(
        [
          fits('device_id', sql`devices where tenant_id = ${tenant} and ${locked('tenant')} <> '{}'`, ['device_id']),
          fits('device_id', isLocked('devices', 'device_id'), ['device_id']),
          fits('device_id', isLocked('device_groups', 'group_id'), ['group_id', 'device_id']),
          ofUsers(tenant, isLocked('users', 'user_id'), ['user_id']),
          ofUsers(tenant, isLocked('group_members', 'group_id'), ['group_id', 'user_id']),
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
    presence: (tenant: TenantId, presence: Presence, onlineSince: Date) => {
      if (presence === 'never') return seen(tenant, sql`seen_key = '-infinity'`)
      const since = seenKey(onlineSince)
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
}
