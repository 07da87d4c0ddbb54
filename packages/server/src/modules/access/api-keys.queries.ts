import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../db/affected-row.ts'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { LimitGrant } from '../../kernel/allowance.ts'

export const insertKey = (
  tx: Tx,
  _: LimitGrant,
  key: Omit<Selectable<Tables['api_keys']>, 'revoked_at' | 'expired_at'>,
) => tx.insertInto('api_keys').values(key).execute()

export const findKeyByLookup = (tx: Tx, tenant: TenantId, lookup: string) =>
  tx
    .selectFrom('api_keys')
    .select([
      'key_id',
      'secret_digest',
      'name',
      'role',
      'allowed_cidrs',
      'expires_at',
      'revoked_at',
      'owner_tenant_id',
      'owner_user_id',
      'directory',
      'stands_for',
      'created_by',
    ])
    .where('tenant_id', '=', tenant)
    .where('lookup', '=', lookup)
    .executeTakeFirst()

const columns = [
  'tenant_id',
  'key_id',
  'hint',
  'name',
  'role',
  'allowed_cidrs',
  'created_by',
  'created_at',
  'expires_at',
  'revoked_at',
  'owner_tenant_id',
  'owner_user_id',
  'directory',
  'stands_for',
] as const

export type KeyStatus = 'active' | 'expired' | 'revoked'
type KeyFilter = { status?: KeyStatus; role?: string; unusedSince?: Date }
/** Each key has one row in `api_key_activity`. */
export const selectKeys = (tx: Tx, tenant: TenantId, { status, role, unusedSince }: KeyFilter, at: Date) => {
  let q = tx
    .selectFrom('api_keys')
    .innerJoin('api_key_activity as activity', (j) =>
      j.on('activity.tenant_id', '=', tenant).onRef('activity.key_id', '=', 'api_keys.key_id'),
    )
    .select(columns.map((column) => `api_keys.${column}` as const))
    .select('activity.last_used_at')
    .where('api_keys.tenant_id', '=', tenant)
  if (role) q = q.where('role', '=', role)
  if (unusedSince) q = q.where('activity.last_used_key', '<', unusedSince)
  if (status) q = q.where('revoked_at', status === 'revoked' ? 'is not' : 'is', null)
  if (status === 'active') q = q.where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', at)]))
  if (status === 'expired') q = q.where('expires_at', '<=', at)
  return q
}
export const findKey = (tx: Tx, tenant: TenantId, id: string, at: Date) =>
  selectKeys(tx, tenant, {}, at).where('api_keys.key_id', '=', id).executeTakeFirst()
export type ApiKeyRow = NonNullable<Awaited<ReturnType<typeof findKey>>>

export const findKeys = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  tx
    .selectFrom('api_keys')
    .select(['key_id', 'name', 'hint', 'role', 'expires_at', 'revoked_at'])
    .where('tenant_id', '=', tenant)
    .where('key_id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()

/** Status and roles of the owner of a key. Undefined if the user is deleted or locked. */
export const findKeyOwner = (tx: Tx, tenant: TenantId, user: string) =>
  tx
    .selectFrom('users')
    .select(['kind', 'status', 'username', 'stands_for'])
    .select(
      sql<string[]>`array(select r.role from user_roles r
        where r.tenant_id = ${tenant} and r.user_id = users.user_id order by r.role)`.as('roles'),
    )
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', user)
    .where('deleted_at', 'is', null)
    .where(sql<boolean>`user_id not in (select * from locked_targets(${tenant}, 'user'))`)
    .executeTakeFirst()

/** Limits that a key passes on to the keys it creates. Undefined if the key is revoked. */
export const findBounds = (tx: Tx, tenant: TenantId, id: string) =>
  tx
    .selectFrom('api_keys')
    .select(['expires_at', 'allowed_cidrs', 'owner_tenant_id', 'owner_user_id'])
    .where('tenant_id', '=', tenant)
    .where('key_id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()

/** The predicate acts as the lock: of two concurrent revocations exactly one returns true. */
export const markRevoked = (tx: Tx, tenant: TenantId, id: string, at: Date): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('api_keys')
      .set({ revoked_at: at })
      .where('tenant_id', '=', tenant)
      .where('key_id', '=', id)
      .where('revoked_at', 'is', null)
      .returning('key_id'),
  )

/** Roles of a user, also of one that is suspended or locked. Undefined if the user is deleted. */
export const findRolesOf = async (tx: Tx, tenant: TenantId, user: string): Promise<string[] | undefined> => {
  const row = await tx
    .selectFrom('users')
    .select(
      sql<string[]>`array(select r.role from user_roles r
        where r.tenant_id = ${tenant} and r.user_id = users.user_id)`.as('roles'),
    )
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', user)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row?.roles
}

/** Keys owned by a user of any tenant or created by one of `makers` (TypeIDs), including revoked keys. */
export const findKeysOf = (
  tx: Tx,
  tenant: TenantId,
  { owner, makers }: { owner: { tenantId: TenantId; userId: string }; makers: readonly string[] },
): Promise<{ key_id: string; revoked: boolean }[]> =>
  sql<{ key_id: string; revoked: boolean }>`
    select key_id, revoked_at is not null as revoked from api_keys
    where tenant_id = ${tenant} and owner_user_id = ${owner.userId} and owner_tenant_id = ${owner.tenantId}
    union
    select key_id, revoked_at is not null from api_keys
    where tenant_id = ${tenant} and created_by = any(${makers}::text[])`
    .execute(tx)
    .then((r) => r.rows)

/** Revokes those of the keys that are not revoked yet, and returns them. */
export const markAllRevoked = (tx: Tx, tenant: TenantId, ids: readonly string[], at: Date) =>
  sql<Pick<ApiKeyRow, 'key_id' | 'name' | 'owner_user_id'>>`
    with locked as (
      select key_id from api_keys
      where tenant_id = ${tenant} and key_id = any(${ids}::uuid[]) and revoked_at is null
      order by key_id for no key update)
    update api_keys k set revoked_at = ${at} from locked
    where k.tenant_id = ${tenant} and k.key_id = locked.key_id returning k.key_id, k.name, k.owner_user_id`
    .execute(tx)
    .then((r) => r.rows)

/**
 * Bypasses tenant isolation. Returns the other tenants in which the user owns keys or one of `makers` (TypeIDs) created
 * some.
 */
export const tenantsWithKeysOf = async (
  tx: Tx,
  owner: { tenantId: TenantId; userId: string },
  makers: readonly string[],
) => {
  const { rows } = await sql<{ tenant_id: TenantId }>`
    select tenant_id from api_keys where owner_user_id = ${owner.userId} and owner_tenant_id = ${owner.tenantId}
    union
    select tenant_id from api_keys where created_by = any(${makers}::text[])`.execute(tx)
  return rows.map((r) => r.tenant_id).filter((tenant) => tenant !== owner.tenantId)
}

/** Marks expired keys, so that they no longer count against the limit. Returns the number of keys marked. */
export const noteExpired = async (tx: Tx, tenant: TenantId, at: Date): Promise<number> => {
  const { rows } = await sql`
    with ran_out as (
      select key_id from api_keys
      where tenant_id = ${tenant} and expires_at <= ${at} and expired_at is null and revoked_at is null
      order by key_id for no key update)
    update api_keys k set expired_at = k.expires_at from ran_out
    where k.tenant_id = ${tenant} and k.key_id = ran_out.key_id returning k.key_id`.execute(tx)
  return rows.length
}

/** Writes for all tenants at once: one statement for all recently used keys. */
export const writeActivity = (tx: Tx, usedKeys: { tenant_id: string; key_id: string; at: Date }[]) =>
  sql`
    insert into api_key_activity (tenant_id, key_id, last_used_at)
    select * from unnest(${usedKeys.map((u) => u.tenant_id)}::uuid[], ${usedKeys.map((u) => u.key_id)}::uuid[],
      ${usedKeys.map((u) => u.at.toISOString())}::timestamptz[]) order by 1, 2
    on conflict (tenant_id, key_id)
      do update set last_used_at = greatest(api_key_activity.last_used_at, excluded.last_used_at)`.execute(tx)

/** Time range of expiries: later than `after`, and no later than `until`. */
export type EndsWithin = { after: Date; until?: Date }
const selectEnding = (tx: Tx, tenant: TenantId, { after, until }: EndsWithin) => {
  const q = tx
    .selectFrom('api_keys')
    .where('tenant_id', '=', tenant)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', after)
  return until ? q.where('expires_at', '<=', until) : q
}

/** Active keys that expire in the range, soonest first, starting after the key `behind`; at most `most`. */
export const endingKeys = (
  tx: Tx,
  tenant: TenantId,
  within: EndsWithin,
  behind: { expiresAt: Date; keyId: string } | undefined,
  most: number,
) => {
  const q = selectEnding(tx, tenant, within)
    .select(['key_id', 'name', 'created_at', 'expires_at'])
    .orderBy('expires_at')
    .orderBy('key_id')
    .limit(most)
  if (!behind) return q.execute()
  const { expiresAt, keyId } = behind
  return q.where(sql<boolean>`(expires_at, key_id) > (${expiresAt}::timestamptz, ${keyId}::uuid)`).execute()
}

export const countEnding = async (tx: Tx, tenant: TenantId, within: EndsWithin): Promise<number> => {
  const { count } = await selectEnding(tx, tenant, within)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Revokes the keys of these users that are not revoked yet. Of concurrent callers, only one gets a given key back. */
export const revokeKeysOf = async (tx: Tx, tenant: TenantId, users: readonly string[], at: Date) => {
  const { rows } = await sql<{ key_id: string; name: string; owner_user_id: string }>`
    with locked as (
      select key_id from api_keys where tenant_id = ${tenant} and owner_tenant_id = ${tenant}
        and owner_user_id = any(${users}::uuid[]) and revoked_at is null
      order by key_id for no key update)
    update api_keys k set revoked_at = ${at} from locked
    where k.tenant_id = ${tenant} and k.key_id = locked.key_id
    returning k.key_id, k.name, k.owner_user_id`.execute(tx)
  return rows
}
