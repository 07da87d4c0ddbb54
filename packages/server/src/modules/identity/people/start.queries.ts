import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Returns the time at which this user set up a second factor. */
export const secondFactorAt = async (tx: Tx, tenant: TenantId, userId: string): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('user_totp')
    .select('enrolled_at')
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.enrolled_at ?? undefined
}
