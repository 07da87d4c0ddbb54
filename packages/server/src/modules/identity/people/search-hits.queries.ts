import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export const findUsers = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  tx
    .selectFrom('users')
    .select(['user_id', 'kind', 'username', 'display_name', 'email', 'status', 'locked_until'])
    .select(
      sql<string[]>`array(select r.role from user_roles r
        where r.tenant_id = users.tenant_id and r.user_id = users.user_id)`.as('roles'),
    )
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', sql<string>`any(${ids}::uuid[])`)
    .where('deleted_at', 'is', null)
    .execute()

export const findGroups = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  tx
    .selectFrom('groups')
    .select(['group_id', 'name', 'member_count'])
    .where('tenant_id', '=', tenant)
    .where('group_id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()
