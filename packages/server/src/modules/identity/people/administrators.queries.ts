import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Locks the tenant until commit, for one transaction at a time. Rows that refer to the tenant can still be written. */
export const lockAdministrators = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('tenants')
    .select('tenant_id')
    .where('tenant_id', '=', tenant)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow()

export const nameOfTenant = async (tx: Tx, tenant: TenantId): Promise<string> =>
  (await tx.selectFrom('tenants').select('name').where('tenant_id', '=', tenant).executeTakeFirstOrThrow()).name

/** Returns the people who could sign in with one of these roles now. */
export const selectHolders = (tx: Tx, tenant: TenantId, roles: readonly string[]) =>
  tx
    .selectFrom('users')
    .innerJoin('user_roles', (j) =>
      j.onRef('user_roles.tenant_id', '=', 'users.tenant_id').onRef('user_roles.user_id', '=', 'users.user_id'),
    )
    .select(['users.user_id', 'user_roles.role'])
    .where('users.tenant_id', '=', tenant)
    .where('user_roles.role', 'in', roles)
    .where('users.kind', '=', 'person')
    .where('users.status', '=', 'active')
    .where('users.deleted_at', 'is', null)
    .where(sql<boolean>`users.user_id not in (select * from locked_targets(${tenant}, 'user'))`)
    .execute()
