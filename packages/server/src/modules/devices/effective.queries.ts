import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { EffectiveStatus, UserState } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Lock of a row of `devices`, other than by its user, as `LockedBy`; null if there is none. */
export const lockedBy = (tenant: TenantId) => sql`case
  when exists (select from locked_targets(${tenant}, 'tenant')) then 'tenant'
  when devices.device_id in (select * from locked_targets(${tenant}, 'device')) then 'device'
  when devices.group_ids && array(select * from locked_targets(${tenant}, 'group')) then 'group' end`

/** State of a row of `users u`, as `UserState`. Does not read all members of a locked group, which can be everyone. */
export const userState = (tenant: TenantId) => sql`case
  when u.deleted_at is not null then 'deleted'
  when u.user_id in (select * from locked_targets(${tenant}, 'user')) then 'locked'
  when exists (select from locked_targets(${tenant}, 'group')) and exists (
    select from group_members m where m.tenant_id = ${tenant} and m.user_id = u.user_id
      and m.group_id in (select * from locked_targets(${tenant}, 'group')) offset 0) then 'group_locked'
  when u.status = 'suspended' then 'suspended' else 'active' end`

/** Lock and user state of a row of `devices`. */
export const deviceBindings = (tenant: TenantId) => ({
  lockedBy: lockedBy(tenant),
  user: sql`(select ${userState(tenant)} from users u where u.tenant_id = ${tenant} and u.user_id = devices.user_id)`,
})

/**
 * Effective status of a row of `devices` at a time. `effectiveOf` computes the same for one device in memory.
 * `offset 0` keeps the planner from looking up the user again for each mention of its state.
 */
export const effectiveStatus = (tenant: TenantId, at: Date) => {
  const { lockedBy: lock, user } = deviceBindings(tenant)
  return sql<EffectiveStatus>`case when devices.status = 'revoked' then 'revoked' else (
    select case
      when b.user_state = 'deleted' then 'user_deleted'
      when b.lock is not null or b.user_state in ('locked', 'group_locked') then 'locked'
      when b.user_state = 'suspended' then 'user_suspended'
      when devices.status in ('suspended', 'pending') then devices.status
      when devices.credential_expires_at <= ${at} then 'expired'
      else 'active' end
    from (select ${user} as user_state, ${lock} as lock offset 0) as b) end`
}
export const hasEffectiveStatus = (tenant: TenantId, wanted: EffectiveStatus, at: Date) =>
  sql<boolean>`${wanted} = ${effectiveStatus(tenant, at)}`

/** Own status of all devices with an effective status, if they share one. */
export const statusBehind: Partial<Record<EffectiveStatus, 'pending' | 'active' | 'suspended' | 'revoked'>> = {
  active: 'active',
  expired: 'active',
  pending: 'pending',
  suspended: 'suspended',
  revoked: 'revoked',
}

/** State of a user, and whether all devices of the tenant are locked. */
export const findUserState = async (tx: Tx, tenant: TenantId, userId: string) => {
  const { rows } = await sql<{ state: UserState; tenant_locked: boolean }>`
    select ${userState(tenant)} as state, exists (select from locked_targets(${tenant}, 'tenant')) as tenant_locked
    from users u where u.tenant_id = ${tenant} and u.user_id = ${userId}`.execute(tx)
  return rows[0]
}
