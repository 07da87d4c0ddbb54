import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { hasPrefix } from '../../../db/page.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

const columns = [
  'tenant_id',
  'group_id',
  'name',
  'description',
  'source',
  'external_id',
  'created_at',
  'updated_at',
  'member_count',
] as const

export const selectGroups = (tx: Tx, tenant: TenantId, prefix: string | undefined) => {
  let q = tx.selectFrom('groups').select(columns).where('tenant_id', '=', tenant)
  if (prefix !== undefined) q = q.where(hasPrefix('name_key', prefix))
  return q
}
export const findGroup = (tx: Tx, tenant: TenantId, id: string) =>
  selectGroups(tx, tenant, undefined).where('group_id', '=', id).executeTakeFirst()
export type GroupRow = NonNullable<Awaited<ReturnType<typeof findGroup>>>

/** Like `findGroup`, and locks the row until commit, which serializes changes of one group's members. */
export const lockGroup = async (tx: Tx, tenant: TenantId, id: string) => {
  await tx
    .selectFrom('groups')
    .select('group_id')
    .where('tenant_id', '=', tenant)
    .where('group_id', '=', id)
    .forUpdate()
    .execute()
  return findGroup(tx, tenant, id)
}

export const insertGroup = (
  tx: Tx,
  group: Pick<
    Selectable<Tables['groups']>,
    'tenant_id' | 'group_id' | 'name' | 'description' | 'created_at' | 'updated_at'
  >,
) => tx.insertInto('groups').values(group).execute()

export const updateGroup = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  { updated_at: at, ...fields }: { name?: string; description?: string; updated_at: Date },
) =>
  tx
    .updateTable('groups')
    .set({ ...fields, updated_at: later(at) })
    .where('tenant_id', '=', tenant)
    .where('group_id', '=', id)
    .execute()

/** Returns a deleted group as it was, without members. */
export const findDeleted = async (tx: Tx, tenant: TenantId, id: string): Promise<GroupRow | undefined> => {
  const row = await tx
    .selectFrom('deleted_groups')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('group_id', '=', id)
    .executeTakeFirst()
  return row && { ...row, external_id: null, updated_at: row.deleted_at, member_count: 0 }
}

export const insertDeleted = (
  tx: Tx,
  { tenant_id, group_id, name, description, source, created_at }: GroupRow,
  at: Date,
) =>
  tx
    .insertInto('deleted_groups')
    .values({ tenant_id, group_id, name, description, source, created_at, deleted_at: at })
    .execute()

/** Deletes the group and its memberships. */
export const removeGroup = (tx: Tx, tenant: TenantId, id: string) =>
  tx.deleteFrom('groups').where('tenant_id', '=', tenant).where('group_id', '=', id).execute()

export const listMembers = async (tx: Tx, tenant: TenantId, group: string): Promise<string[]> => {
  const rows = await tx
    .selectFrom('group_members')
    .select('user_id')
    .where('tenant_id', '=', tenant)
    .where('group_id', '=', group)
    .execute()
  return rows.map((r) => r.user_id)
}

/** Returns those of these users that exist. They cannot be deleted before commit. */
export const holdUsers = async (tx: Tx, tenant: TenantId, users: readonly string[]): Promise<Set<string>> => {
  const rows = await tx
    .selectFrom('users')
    .select('user_id')
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`user_id = any(${users}::uuid[])`)
    .where('deleted_at', 'is', null)
    .orderBy('user_id')
    .forShare()
    .execute()
  return new Set(rows.map((r) => r.user_id))
}

/** Returns those of these groups that exist. Until commit nobody else changes them or their members. */
export const lockGroups = async (tx: Tx, tenant: TenantId, groups: readonly string[]): Promise<Set<string>> => {
  if (groups.length === 0) return new Set()
  const rows = await tx
    .selectFrom('groups')
    .select('group_id')
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`group_id = any(${groups}::uuid[])`)
    .orderBy('group_id')
    .forNoKeyUpdate()
    .execute()
  return new Set(rows.map((r) => r.group_id))
}

type Pair = { group: string; user: string }
/** Sorts pairs into the order of locks for every change of several memberships. */
const inOrder = (pairs: readonly Pair[]) =>
  pairs.toSorted((a, b) => (`${a.group} ${a.user}` < `${b.group} ${b.user}` ? -1 : 1))

/**
 * Members are part of a group's version, and only this time shows it in the row. So no two changes have the same time.
 */
const later = (at: Date) => sql<Date>`greatest(${at}::timestamptz, updated_at + interval '1 millisecond')`
/** Updates the member counts and change times of groups. Their rows are locked. */
const count = async (tx: Tx, tenant: TenantId, pairs: readonly Pair[], by: 1 | -1, at: Date): Promise<void> => {
  const byGroup = Map.groupBy(inOrder(pairs), (p) => p.group)
  for (const [group, members] of byGroup)
    await tx
      .updateTable('groups')
      .set({ member_count: sql<number>`member_count + ${by * members.length}::integer`, updated_at: later(at) })
      .where('tenant_id', '=', tenant)
      .where('group_id', '=', group)
      .execute()
}

/** Returns the added pairs. The rows of users and groups are locked. */
export const addMembers = async (tx: Tx, tenant: TenantId, pairs: readonly Pair[], at: Date): Promise<Pair[]> => {
  if (pairs.length === 0) return []
  const rows = await tx
    .insertInto('group_members')
    .values(inOrder(pairs).map((p) => ({ tenant_id: tenant, group_id: p.group, user_id: p.user })))
    .onConflict((c) => c.columns(['tenant_id', 'group_id', 'user_id']).doNothing())
    .returning(['group_id', 'user_id'])
    .execute()
  const added = rows.map((r) => ({ group: r.group_id, user: r.user_id }))
  await count(tx, tenant, added, 1, at)
  return added
}

/** Returns the removed pairs. The rows of the groups are locked, so nobody else removes any of them. */
export const removeMembers = async (tx: Tx, tenant: TenantId, pairs: readonly Pair[], at: Date): Promise<Pair[]> => {
  if (pairs.length === 0) return []
  const { rows } = await sql<{ group_id: string; user_id: string }>`
    delete from group_members m
    using unnest(${pairs.map((p) => p.group)}::uuid[], ${pairs.map((p) => p.user)}::uuid[]) as p (group_id, user_id)
    where m.tenant_id = ${tenant} and m.group_id = p.group_id and m.user_id = p.user_id
    returning m.group_id, m.user_id`.execute(tx)
  const removed = rows.map((r) => ({ group: r.group_id, user: r.user_id }))
  await count(tx, tenant, removed, -1, at)
  return removed
}
