import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { LimitGrant } from '../../../kernel/allowance.ts'
import { type DenseUserFilters, searchedFields, type UserFilter, userConditions } from './users-filter.queries.ts'

const columns = [
  'tenant_id',
  'user_id',
  'kind',
  'username',
  'email',
  'display_name',
  'status',
  'locked_until',
  'source',
  'external_id',
  'break_glass',
  'created_at',
  'updated_at',
  'last_login_at',
  'deleted_at',
] as const
const rolesOf = sql<string[]>`array(select r.role from user_roles r
  where r.tenant_id = users.tenant_id and r.user_id = users.user_id order by r.role)`
const groupsOf = sql<string[]>`array(select m.group_id from group_members m
  where m.tenant_id = users.tenant_id and m.user_id = users.user_id order by m.group_id)::text[]`

/** A name is looked up group by group: a join reads all groups for each user where there are some hundreds. */
const groupNamesOf = sql<string[]>`array(select (select g.name from groups g
    where g.tenant_id = m.tenant_id and g.group_id = m.group_id) from group_members m
  where m.tenant_id = users.tenant_id and m.user_id = users.user_id order by m.group_id)`
/** Limit of the count of devices, so that a list reads no more for one user. */
const mostDevices = 1000
const devicesOf = sql<number>`(select count(*) from (select from devices d
  where d.tenant_id = users.tenant_id and d.user_id = users.user_id and d.status <> 'revoked'
  limit ${sql.lit(mostDevices)}) as counted)`

const mfaSince = sql<Date | null>`(select t.enrolled_at from user_totp t
  where t.tenant_id = users.tenant_id and t.user_id = users.user_id)`

const selectAny = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('users')
    .select(columns)
    .select([
      rolesOf.as('roles'),
      groupsOf.as('group_ids'),
      groupNamesOf.as('group_names'),
      devicesOf.as('device_count'),
      mfaSince.as('mfa_enrolled_at'),
      sql<boolean>`password_phc is not null`.as('password_set'),
    ])
    .where('tenant_id', '=', tenant)

export const selectUsers = (tx: Tx, tenant: TenantId, f: UserFilter, dense: DenseUserFilters) => {
  let q = selectAny(tx, tenant)
  for (const condition of userConditions(tenant, f, dense)) q = q.where(condition)
  return q
}
/**
 * Selects the users that a list walks if no index covers any of its filters. A filter with few matches selects them by
 * its own index, and the other filters are checked for each of them.
 */
export const walkUsers = (tx: Tx, tenant: TenantId, f: UserFilter, dense: DenseUserFilters) => {
  if (searchedFields.some((name) => f[name] !== undefined && !dense.has(name))) return undefined
  if (dense.size === 0 && f.mfa === undefined && f.hasDevices === undefined) return undefined
  const { kind, status, source } = f
  let q = tx.selectFrom('users').select('user_id').where('tenant_id', '=', tenant).where('deleted_at', 'is', null)
  if (kind) q = q.where('kind', '=', kind)
  if (status) q = q.where('status', '=', status)
  if (source) q = q.where('source', '=', source)
  return q
}
/** Also returns deleted users, which stay as tombstones. */
export const findUser = (tx: Tx, tenant: TenantId, id: string) =>
  selectAny(tx, tenant).where('user_id', '=', id).executeTakeFirst()
export type UserRow = NonNullable<Awaited<ReturnType<typeof findUser>>>

/**
 * Like `findUser`, and locks the row until commit. It reads after the lock, so that roles and groups are as new as the
 * row.
 */
export const lockUser = async (tx: Tx, tenant: TenantId, id: string) => {
  await tx
    .selectFrom('users')
    .select('user_id')
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', id)
    .forNoKeyUpdate()
    .execute()
  return findUser(tx, tenant, id)
}

type Stored = Selectable<Tables['users']>
type NewUser = Pick<
  Stored,
  'tenant_id' | 'user_id' | 'kind' | 'username' | 'email' | 'display_name' | 'created_at' | 'updated_at'
> &
  Partial<Pick<Stored, 'source' | 'password_phc' | 'password_must_change' | 'password_expires_at' | 'stands_for'>>
export const insertUser = (tx: Tx, _: LimitGrant, user: NewUser) => tx.insertInto('users').values(user).execute()

/** False if the name is taken. */
export const insertUnlessTaken = (tx: Tx, _: LimitGrant, user: NewUser): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('users')
      .values(user)
      .onConflict((c) => c.doNothing())
      .returning('user_id'),
  )
export const insertRoles = (tx: Tx, tenant: TenantId, user: string, roles: readonly string[], at: Date) =>
  tx
    .insertInto('user_roles')
    .values(roles.map((role) => ({ tenant_id: tenant, user_id: user, role, granted_at: at })))
    .execute()

export const findIdByUsername = async (tx: Tx, tenant: TenantId, username: string): Promise<string | undefined> => {
  const row = await tx
    .selectFrom('users')
    .select('user_id')
    .where('tenant_id', '=', tenant)
    .where('username_key', '=', sql<string>`lower(${username})`)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row?.user_id
}

export const updateProfile = (
  tx: Tx,
  tenant: TenantId,
  id: string,
  fields: { username?: string; email?: string | null; display_name?: string; updated_at: Date },
) => tx.updateTable('users').set(fields).where('tenant_id', '=', tenant).where('user_id', '=', id).execute()

/**
 * True for the one call that changed the status, or took over a suspension by the directory. The directory cannot lift
 * such a suspension any more.
 */
export const moveStatus = (tx: Tx, tenant: TenantId, id: string, to: 'active' | 'suspended', at: Date) =>
  affectedRow(
    tx
      .updateTable('users')
      .set({ status: to, suspended_by_directory: false, updated_at: at })
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', id)
      .where((eb) => eb.or([eb('status', '<>', to), eb('suspended_by_directory', '=', true)]))
      .where('deleted_at', 'is', null)
      .returning('user_id'),
  )

/** True for the one call that unlocked the account. */
export const unlock = (tx: Tx, tenant: TenantId, id: string, at: Date) =>
  affectedRow(
    tx
      .updateTable('users')
      .set({ locked_until: null, failed_logins: 0, updated_at: at })
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', id)
      .where('locked_until', '>', at)
      .where('deleted_at', 'is', null)
      .returning('user_id'),
  )

/**
 * Marks the user as deleted and removes the password. The caller ends everything else of the user. True for the one
 * call that did it.
 */
export const softDelete = (tx: Tx, tenant: TenantId, id: string, at: Date): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('users')
      .set({ deleted_at: at, updated_at: at, password_phc: null, break_glass: false, directory_attributes: null })
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', id)
      .where('deleted_at', 'is', null)
      .returning('user_id'),
  )

/** Prefix of the external id for an entry that got none from its directory. */
const ownId = 'scim:'
export const ownExternalId = (id: string): string => ownId + id
/** Returns the external id that the directory gave; null if it gave none. */
export const shownExternalId = (external: string | null): string | null =>
  external === null || isOwnExternalId(external) ? null : external
export const isOwnExternalId = (external: string): boolean => external.startsWith(ownId)
