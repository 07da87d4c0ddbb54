import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Deletes the roles of these users. The users' rows are locked, as in every change of their roles. */
export const deleteRolesOf = async (tx: Tx, tenant: TenantId, users: readonly string[]) => {
  const { rows } = await sql<{ user_id: string; role: string }>`
    with locked as (
      select user_id, role from user_roles where tenant_id = ${tenant} and user_id = any(${users}::uuid[])
      order by user_id, role for update)
    delete from user_roles r using locked l
    where r.tenant_id = ${tenant} and r.user_id = l.user_id and r.role = l.role
    returning r.user_id, r.role`.execute(tx)
  return rows
}

/**
 * Deletes second factors with their recovery codes, and unconfirmed enrollments. Returns the users who had a factor.
 */
export const deleteFactorsOf = async (tx: Tx, tenant: TenantId, users: readonly string[]): Promise<Set<string>> => {
  const { rows } = await sql<{ user_id: string; enrolled: boolean }>`
    with locked as (
      select user_id from user_totp where tenant_id = ${tenant} and user_id = any(${users}::uuid[])
      order by user_id for update)
    delete from user_totp t using locked l
    where t.tenant_id = ${tenant} and t.user_id = l.user_id
    returning t.user_id, t.enrolled_at is not null as enrolled`.execute(tx)
  const ids = rows.filter((r) => r.enrolled).map((r) => r.user_id)
  if (rows.length > 0)
    await sql`
      with locked as (
        select user_id from users where tenant_id = ${tenant} and user_id = any(${rows.map((r) => r.user_id)}::uuid[])
        order by user_id for no key update)
      update users u set mfa_at = null from locked
      where u.tenant_id = ${tenant} and u.user_id = locked.user_id`.execute(tx)
  return new Set(ids)
}

/** Returns the memberships of these users, in groups of any directory or none. */
export const membershipsOf = async (tx: Tx, tenant: TenantId, users: readonly string[]) => {
  if (users.length === 0) return []
  const { rows } = await sql<{ group_id: string; user_id: string }>`
    select group_id, user_id from group_members where tenant_id = ${tenant} and user_id = any(${users}::uuid[])`.execute(
    tx,
  )
  return rows
}
