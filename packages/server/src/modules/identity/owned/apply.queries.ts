import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { LimitGrant } from '../../../kernel/allowance.ts'

export type NewUser = {
  user_id: string
  external_id: string
  username: string
  email: string | null
  display_name: string
}
export type UserAfter = Omit<NewUser, 'external_id'> & {
  status: 'active' | 'suspended'
  suspended_by_directory: boolean
  absent: boolean
}
export type NewGroup = { group_id: string; external_id: string; name: string }
export type Pair = { group_id: string; user_id: string }

export const insertUsers = (
  tx: Tx,
  _: LimitGrant,
  tenant: TenantId,
  directory: string,
  users: readonly NewUser[],
  at: Date,
) =>
  sql`
    insert into users (tenant_id, user_id, external_id, username, email, display_name, source, directory_id, created_at,
      updated_at)
    select ${tenant}::uuid, w.*, 'directory', ${directory}::uuid, ${at}::timestamptz, ${at}::timestamptz
    from unnest(${users.map((u) => u.user_id)}::uuid[], ${users.map((u) => u.external_id)}::text[],
      ${users.map((u) => u.username)}::text[], ${users.map((u) => u.email)}::text[],
      ${users.map((u) => u.display_name)}::text[]) as w`.execute(tx)

/** Replaces the names of users by temporary ones before they get their new names, since two users may swap names. */
export const setNamesAside = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  sql`
    with locked as (
      select user_id from users where tenant_id = ${tenant} and user_id = any(${ids}::uuid[])
      order by user_id for no key update)
    update users u set username = '~' || u.user_id, email = null from locked
    where u.tenant_id = ${tenant} and u.user_id = locked.user_id`.execute(tx)

export const updateUsers = (tx: Tx, tenant: TenantId, users: readonly UserAfter[], at: Date) =>
  sql`
    with locked as (
      select user_id from users where tenant_id = ${tenant} and user_id = any(${users.map((u) => u.user_id)}::uuid[])
      order by user_id for no key update)
    update users u set username = w.username, email = w.email, display_name = w.display_name, status = w.status,
      suspended_by_directory = w.by_directory, absent_since = case when w.absent then coalesce(u.absent_since, ${at}) end,
      updated_at = ${at}
    from locked, unnest(${users.map((u) => u.user_id)}::uuid[], ${users.map((u) => u.username)}::text[],
      ${users.map((u) => u.email)}::text[], ${users.map((u) => u.display_name)}::text[],
      ${users.map((u) => u.status)}::text[], ${users.map((u) => u.suspended_by_directory)}::boolean[],
      ${users.map((u) => u.absent)}::boolean[])
      as w (user_id, username, email, display_name, status, by_directory, absent)
    where u.tenant_id = ${tenant} and u.user_id = locked.user_id and w.user_id = locked.user_id`.execute(tx)

export const insertGroups = (tx: Tx, tenant: TenantId, directory: string, groups: readonly NewGroup[], at: Date) =>
  sql`
    insert into groups (tenant_id, group_id, external_id, name, source, directory_id, created_at, updated_at)
    select ${tenant}::uuid, w.*, 'directory', ${directory}::uuid, ${at}::timestamptz, ${at}::timestamptz
    from unnest(${groups.map((g) => g.group_id)}::uuid[], ${groups.map((g) => g.external_id)}::text[],
      ${groups.map((g) => g.name)}::text[]) as w`.execute(tx)

export const setGroupNamesAside = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  sql`
    with locked as (
      select group_id from groups where tenant_id = ${tenant} and group_id = any(${ids}::uuid[])
      order by group_id for no key update)
    update groups g set name = '~' || g.group_id from locked
    where g.tenant_id = ${tenant} and g.group_id = locked.group_id`.execute(tx)

/** Each version of a group has a later time than the one before, as in every change of a group. */
const later = (at: Date) => sql`greatest(${at}::timestamptz, g.updated_at + interval '1 millisecond')`

export const renameGroups = (
  tx: Tx,
  tenant: TenantId,
  groups: readonly { group_id: string; name: string }[],
  at: Date,
) =>
  sql`
    with locked as (
      select group_id from groups where tenant_id = ${tenant} and group_id = any(${groups.map((g) => g.group_id)}::uuid[])
      order by group_id for no key update)
    update groups g set name = w.name, updated_at = ${later(at)}
    from locked, unnest(${groups.map((g) => g.group_id)}::uuid[], ${groups.map((g) => g.name)}::text[])
      as w (group_id, name)
    where g.tenant_id = ${tenant} and g.group_id = locked.group_id and w.group_id = locked.group_id`.execute(tx)

type Moved = { group_id: string; n: number }
/** Returns the number of members added to each group. The rows of groups and users are locked. */
export const insertMembers = (tx: Tx, tenant: TenantId, pairs: readonly Pair[]): Promise<Moved[]> =>
  sql<Moved>`
    with added as (
      insert into group_members (tenant_id, group_id, user_id)
      select ${tenant}::uuid, w.* from unnest(${pairs.map((p) => p.group_id)}::uuid[],
        ${pairs.map((p) => p.user_id)}::uuid[]) as w
      on conflict do nothing returning group_id)
    select group_id, count(*) as n from added group by group_id`
    .execute(tx)
    .then((r) => r.rows)

/** Returns the number of members removed from each group. The rows of the groups are locked. */
export const deleteMembers = (tx: Tx, tenant: TenantId, pairs: readonly Pair[]): Promise<Moved[]> =>
  sql<Moved>`
    with gone as (
      with locked as (
        select m.group_id, m.user_id from group_members m, unnest(${pairs.map((p) => p.group_id)}::uuid[],
          ${pairs.map((p) => p.user_id)}::uuid[]) as w (group_id, user_id)
        where m.tenant_id = ${tenant} and m.group_id = w.group_id and m.user_id = w.user_id
        order by m.group_id, m.user_id for update of m)
      delete from group_members m using locked l
      where m.tenant_id = ${tenant} and m.group_id = l.group_id and m.user_id = l.user_id returning m.group_id)
    select group_id, count(*) as n from gone group by group_id`
    .execute(tx)
    .then((r) => r.rows)

export const addMemberCounts = (tx: Tx, tenant: TenantId, moved: readonly Moved[], at: Date) =>
  sql`
    with locked as (
      select group_id from groups where tenant_id = ${tenant} and group_id = any(${moved.map((m) => m.group_id)}::uuid[])
      order by group_id for no key update)
    update groups g set member_count = g.member_count + w.n, updated_at = ${later(at)}
    from locked, unnest(${moved.map((m) => m.group_id)}::uuid[], ${moved.map((m) => m.n)}::integer[]) as w (group_id, n)
    where g.tenant_id = ${tenant} and g.group_id = locked.group_id and w.group_id = locked.group_id`.execute(tx)
