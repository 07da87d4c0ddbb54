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
