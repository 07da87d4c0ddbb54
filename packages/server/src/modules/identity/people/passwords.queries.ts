import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export const findPassword = (tx: Tx, tenant: TenantId, id: string) =>
  tx
    .selectFrom('users')
    .select(['password_phc', 'break_glass'])
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', id)
    .executeTakeFirst()

/** False if `replaces` is given and the stored hash differs. Null means that there was none. */
export const storePassword = async (
  tx: Tx,
  tenant: TenantId,
  id: string,
  wanted: { phc: string; mustChange: boolean; expiresAt: Date | null; at: Date },
  replaces: string | null | undefined,
): Promise<boolean> => {
  let q = tx
    .updateTable('users')
    .set({
      password_phc: wanted.phc,
      password_must_change: wanted.mustChange,
      password_expires_at: wanted.expiresAt,
      updated_at: wanted.at,
    })
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', id)
    .where('deleted_at', 'is', null)
  if (replaces !== undefined) q = q.where('password_phc', 'is not distinct from', replaces)
  return (await q.returning('user_id').executeTakeFirst()) !== undefined
}
