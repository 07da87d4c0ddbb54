import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** True for the one call that granted the role. */
export const insertRoleGrant = (tx: Tx, grant: Omit<Selectable<Tables['user_roles']>, 'grant_id'>): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('user_roles')
      .values(grant)
      .onConflict((c) => c.columns(['tenant_id', 'user_id', 'role']).doNothing())
      .returning('user_id'),
  )

/** True for the one call that revoked the role. */
export const deleteGrant = (tx: Tx, tenant: TenantId, user: string, role: string): Promise<boolean> =>
  affectedRow(
    tx
      .deleteFrom('user_roles')
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', user)
      .where('role', '=', role)
      .returning('user_id'),
  )

export const selectGrants = (tx: Tx, tenant: TenantId, f: { user?: string | undefined; role?: string | undefined }) => {
  let q = tx
    .selectFrom('user_roles')
    .select(['user_id', 'role', 'granted_by', 'granted_at'])
    .select(
      sql<string>`(select u.username from users u
        where u.tenant_id = user_roles.tenant_id and u.user_id = user_roles.user_id)`.as('username'),
    )
    .where('tenant_id', '=', tenant)
  if (f.user !== undefined) q = q.where('user_id', '=', f.user)
  if (f.role !== undefined) q = q.where('role', '=', f.role)
  return q
}

/** Returns an existing grant. The user's row is locked. */
export const findRoleGrant = (tx: Tx, tenant: TenantId, user: string, role: string) =>
  selectGrants(tx, tenant, { user, role }).executeTakeFirstOrThrow()
