import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** A user of a directory, with the fields that the directory controls. */
export type OwnedUser = {
  user_id: string
  external_id: string
  username: string
  email: string | null
  display_name: string
  status: 'active' | 'suspended'
  suspended_by_directory: boolean
  /** True if the directory does not name the user. */
  absent: boolean
  /** Comma-separated roles; null for the many users without one. */
  roles: string | null
}
export type OwnedGroup = { group_id: string; external_id: string; name: string }

/** Columns of `users u`. */
export const userColumns = (tenant: TenantId) => sql`
    u.user_id, u.external_id, u.username, u.email, u.display_name, u.status, u.suspended_by_directory,
      u.absent_since is not null as absent,
      (select string_agg(r.role, ',' order by r.role) from user_roles r
        where r.tenant_id = ${tenant} and r.user_id = u.user_id) as roles`

const usersWhere = async (tx: Tx, tenant: TenantId, where: ReturnType<typeof sql>): Promise<OwnedUser[]> => {
  const { rows } = await sql<OwnedUser>`
    select ${userColumns(tenant)}
    from users u where u.tenant_id = ${tenant} and u.deleted_at is null and ${where}`.execute(tx)
  return rows
}
export const usersOf = (tx: Tx, tenant: TenantId, directory: string): Promise<OwnedUser[]> =>
  usersWhere(tx, tenant, sql`u.directory_id = ${directory}`)

/** Locks these users until commit, then reads them. */
export const lockOwnedUsers = async (
  tx: Tx,
  tenant: TenantId,
  directory: string,
  ids: readonly string[],
): Promise<OwnedUser[]> => {
  if (ids.length === 0) return []
  await sql`
    select user_id from users where tenant_id = ${tenant} and user_id = any(${ids}::uuid[])
    order by user_id for no key update`.execute(tx)
  return usersWhere(tx, tenant, sql`u.directory_id = ${directory} and u.user_id = any(${ids}::uuid[])`)
}

export const ownedGroupsOf = (tx: Tx, tenant: TenantId, directory: string): Promise<OwnedGroup[]> =>
  sql<OwnedGroup>`
    select group_id, external_id, name from groups where tenant_id = ${tenant} and directory_id = ${directory}`
    .execute(tx)
    .then((r) => r.rows)

/** Returns the members of each group of the directory: user ids, 16 bytes each; null for an empty group. */
export const ownedMembersOf = (tx: Tx, tenant: TenantId, directory: string) =>
  sql<{ group_id: string; users: Buffer | null }>`
    select g.group_id, (select string_agg(uuid_send(m.user_id), ''::bytea) from group_members m
      where m.tenant_id = ${tenant} and m.group_id = g.group_id) as users
    from groups g where g.tenant_id = ${tenant} and g.directory_id = ${directory}`
    .execute(tx)
    .then((r) => r.rows)

type Names = { usernames: readonly string[]; groups: readonly string[] }
/** Returns those of these names that users and groups outside of this directory have. Null: a new directory. */
export const takenByOthers = async (
  tx: Tx,
  tenant: TenantId,
  directory: string | null,
  { usernames, groups }: Names,
): Promise<{ kind: 'username' | 'group'; name: string }[]> => {
  const { rows } = await sql<{ kind: 'username' | 'group'; name: string }>`
    select 'username' as kind, w.name from unnest(${usernames}::text[]) as w (name)
    where exists (select from users u where u.tenant_id = ${tenant} and u.username_key = lower(w.name)
      and u.deleted_at is null and (${directory}::uuid is null or u.directory_id is distinct from ${directory}::uuid))
    union all
    select 'group', w.name from unnest(${groups}::text[]) as w (name)
    where exists (select from groups g where g.tenant_id = ${tenant} and g.name_key = lower(w.name)
      and (${directory}::uuid is null or g.directory_id is distinct from ${directory}::uuid))`.execute(tx)
  return rows
}

/** Counts users and groups of each directory. */
export const countOwned = async (tx: Tx, tenant: TenantId, directories: readonly string[]) => {
  const { rows } = await sql<{ directory_id: string; active: number; suspended: number; groups: number }>`
    select d.id as directory_id, coalesce(u.active, 0) as active, coalesce(u.suspended, 0) as suspended,
      coalesce(g.groups, 0) as groups
    from unnest(${directories}::uuid[]) as d (id)
    left join (
      select directory_id, count(*) filter (where status = 'active') as active,
        count(*) filter (where status = 'suspended') as suspended
      from users where tenant_id = ${tenant} and directory_id = any(${directories}::uuid[]) and deleted_at is null
      group by directory_id) u on u.directory_id = d.id
    left join (
      select directory_id, count(*) as groups from groups
      where tenant_id = ${tenant} and directory_id = any(${directories}::uuid[])
      group by directory_id) g on g.directory_id = d.id`.execute(tx)
  return rows
}

/** Locks suspended users that their directory has not named since a time. */
export const lockAbsent = async (tx: Tx, tenant: TenantId, since: Date, limit: number): Promise<string[]> => {
  const { rows } = await sql<{ user_id: string }>`
    select user_id from users
    where tenant_id = ${tenant} and absent_since < ${since} and status = 'suspended' and deleted_at is null
    order by user_id limit ${limit} for no key update`.execute(tx)
  return rows.map((r) => r.user_id)
}
