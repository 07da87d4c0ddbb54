import { sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/**
 * Returns break-glass users who could sign in with one of these roles now, without any required action. A lock after
 * failed attempts is ignored, since it ends by itself.
 */
export const selectBreakGlass = async (
  tx: Tx,
  tenant: TenantId,
  roles: readonly string[],
  most: number,
): Promise<string[]> => {
  const rows = await tx
    .selectFrom('users')
    .select('user_id')
    .where('tenant_id', '=', tenant)
    .where('break_glass', '=', true)
    .where('status', '=', 'active')
    .where('deleted_at', 'is', null)
    .where('password_phc', 'is not', null)
    .where('password_must_change', '=', false)
    .where(sql<boolean>`users.user_id not in (select * from locked_targets(${tenant}, 'user'))`)
    .where(sql<boolean>`exists (select from user_roles r where r.tenant_id = ${tenant}
      and r.user_id = users.user_id and r.role = any(${roles}::text[]))`)
    .limit(most)
    .execute()
  return rows.map((r) => r.user_id)
}

/** True for the one call that changed it. */
export const updateBreakGlass = (tx: Tx, tenant: TenantId, id: string, to: boolean, at: Date): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('users')
      .set({ break_glass: to, updated_at: at })
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', id)
      .where('break_glass', '=', !to)
      .where('deleted_at', 'is', null)
      .returning('user_id'),
  )
