import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { type OwnedGroup, type OwnedUser, userColumns } from './owned.queries.ts'

/** A user of a directory, as the directory reads it. */
export type UserEntry = OwnedUser & { directory_attributes: object | null; created_at: Date; updated_at: Date }
export type GroupEntry = OwnedGroup & { member_count: number; absent: boolean; created_at: Date; updated_at: Date }
type Condition = RawBuilder<SqlBool>

const userEntryColumns = (tenant: TenantId) => sql`
    ${userColumns(tenant)}, u.directory_attributes, u.created_at, u.updated_at`
const groupEntryColumns = sql`
    g.group_id, g.external_id, g.name, g.member_count, g.absent_since is not null as absent, g.created_at, g.updated_at`

const selectUsers = (tx: Tx, tenant: TenantId, directory: string, rest: RawBuilder<unknown>) =>
  sql<UserEntry>`
    select ${userEntryColumns(tenant)}
    from users u where u.tenant_id = ${tenant} and u.directory_id = ${directory} and u.deleted_at is null
      and ${rest}`
    .execute(tx)
    .then((r) => r.rows)
const selectGroups = (tx: Tx, tenant: TenantId, directory: string, rest: RawBuilder<unknown>) =>
  sql<GroupEntry>`
    select ${groupEntryColumns}
    from groups g where g.tenant_id = ${tenant} and g.directory_id = ${directory} and ${rest}`
    .execute(tx)
    .then((r) => r.rows)

type Known = { id: string } | { externalId: string }
/** Also returns an entry that its directory has deleted. */
export const userEntry = async (tx: Tx, tenant: TenantId, directory: string, known: Known) => {
  const where = 'id' in known ? sql`u.user_id = ${known.id}` : sql`u.external_id = ${known.externalId}`
  return (await selectUsers(tx, tenant, directory, where))[0]
}
export const groupEntry = async (tx: Tx, tenant: TenantId, directory: string, known: Known) => {
  const where = 'id' in known ? sql`g.group_id = ${known.id}` : sql`g.external_id = ${known.externalId}`
  return (await selectGroups(tx, tenant, directory, where))[0]
}

type Page = { where: Condition; limit: number; offset: number }
/** Sorted by id, so in the order of creation. */
export const pageOfUsers = (tx: Tx, tenant: TenantId, directory: string, { where, limit, offset }: Page) => {
  const page = sql`u.absent_since is null and ${where} order by u.user_id limit ${limit} offset ${offset}`
  return selectUsers(tx, tenant, directory, page)
}
export const pageOfGroups = (tx: Tx, tenant: TenantId, directory: string, { where, limit, offset }: Page) => {
  const page = sql`g.absent_since is null and ${where} order by g.group_id limit ${limit} offset ${offset}`
  return selectGroups(tx, tenant, directory, page)
}
export const countUsers = async (tx: Tx, tenant: TenantId, directory: string, where: Condition): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from users u where u.tenant_id = ${tenant} and u.directory_id = ${directory}
      and u.absent_since is null and u.deleted_at is null and ${where}`.execute(tx)
  return rows[0]?.n ?? 0
}
export const countGroups = async (tx: Tx, tenant: TenantId, directory: string, where: Condition): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from groups g where g.tenant_id = ${tenant} and g.directory_id = ${directory}
      and g.absent_since is null and ${where}`.execute(tx)
  return rows[0]?.n ?? 0
}
/** Counts active users that were created at or before a time. */
export const countActive = (tx: Tx, tenant: TenantId, directory: string, before: Date): Promise<number> =>
  countUsers(tx, tenant, directory, sql<SqlBool>`u.status = 'active' and u.created_at <= ${before}`)
/** Counts only members that belong to the directory. */
export const countOwnMembers = async (tx: Tx, tenant: TenantId, directory: string, group: string): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from group_members m join users u on u.tenant_id = ${tenant} and u.user_id = m.user_id
    where m.tenant_id = ${tenant} and m.group_id = ${group} and u.directory_id = ${directory}`.execute(tx)
  return rows[0]?.n ?? 0
}

/** Returns the user with this name, of any directory or none. */
export const userNamed = async (tx: Tx, tenant: TenantId, directory: string, username: string) => {
  const { rows } = await sql<UserEntry & { is_own: boolean }>`
    select u.directory_id is not distinct from ${directory}::uuid as is_own, ${userEntryColumns(tenant)}
    from users u where u.tenant_id = ${tenant} and u.deleted_at is null and u.username_key = lower(${username}::text)`.execute(
    tx,
  )
  return rows[0]
}
/** Returns the group with this name, of any directory or none. */
export const groupNamed = async (tx: Tx, tenant: TenantId, directory: string, name: string) => {
  const { rows } = await sql<GroupEntry & { is_own: boolean }>`
    select g.directory_id is not distinct from ${directory}::uuid as is_own, ${groupEntryColumns}
    from groups g where g.tenant_id = ${tenant} and g.name_key = lower(${name})`.execute(tx)
  return rows[0]
}

/** Stores the external id and further attributes of a user whose row is locked. */
export const setUserEntry = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  { external_id, attributes, at }: { external_id: string; attributes: object; at: Date },
) =>
  sql`
    update users set external_id = ${external_id}, directory_attributes = ${JSON.stringify(attributes)}::jsonb,
      updated_at = ${at}
    where tenant_id = ${tenant} and user_id = ${id}`.execute(tx)

/** Stores the external id and absence of a group. Each version of a group has a later time than the one before. */
export const setGroupEntry = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  { external_id, absent, at }: { external_id: string; absent: boolean; at: Date },
) =>
  sql`
    update groups set external_id = ${external_id},
      absent_since = case when ${absent} then coalesce(absent_since, ${at}) end,
      updated_at = greatest(${at}::timestamptz, updated_at + interval '1 millisecond')
    where tenant_id = ${tenant} and group_id = ${id}`.execute(tx)

/** Returns those of these users that the directory has and has not deleted. */
export const usersThere = async (tx: Tx, tenant: TenantId, directory: string, ids: readonly string[]) => {
  if (ids.length === 0) return new Set<string>()
  const { rows } = await sql<{ user_id: string }>`
    select user_id from users where tenant_id = ${tenant} and user_id = any(${ids}::uuid[])
      and directory_id = ${directory} and absent_since is null and deleted_at is null`.execute(tx)
  return new Set(rows.map((r) => r.user_id))
}

/** Returns the users of a directory in one of its groups; with `among` only those of the named users. */
export const membersOfGroup = async (
  tx: Tx,
  tenant: TenantId,
  { directory, group, among }: { directory: string; group: string; among?: readonly string[] },
): Promise<string[]> => {
  const { rows } = await sql<{ user_id: string }>`
    select m.user_id from group_members m join users u on u.tenant_id = ${tenant} and u.user_id = m.user_id
    where m.tenant_id = ${tenant} and m.group_id = ${group} and u.directory_id = ${directory}
      ${among ? sql`and m.user_id = any(${among}::uuid[])` : sql``} order by m.user_id`.execute(tx)
  return rows.map((r) => r.user_id)
}

/** Returns the members of these groups that the directory has not deleted. */
export const membersOfGroups = async (tx: Tx, tenant: TenantId, directory: string, groups: readonly string[]) => {
  const { rows } = await sql<{ group_id: string; user_id: string }>`
    select m.group_id, m.user_id from group_members m join users u on u.tenant_id = ${tenant} and u.user_id = m.user_id
    where m.tenant_id = ${tenant} and m.group_id = any(${groups}::uuid[]) and u.directory_id = ${directory}
      and u.absent_since is null order by m.group_id, m.user_id`.execute(tx)
  return rows
}

/** Returns the groups of a directory that these users are in. */
export const ownedGroupsOfUsers = async (tx: Tx, tenant: TenantId, directory: string, users: readonly string[]) => {
  const { rows } = await sql<{ user_id: string; group_id: string; name: string }>`
    select m.user_id, g.group_id, g.name from group_members m
      join groups g on g.tenant_id = ${tenant} and g.group_id = m.group_id
    where m.tenant_id = ${tenant} and m.user_id = any(${users}::uuid[]) and g.directory_id = ${directory}
      and g.absent_since is null order by m.user_id, g.group_id`.execute(tx)
  return rows
}
