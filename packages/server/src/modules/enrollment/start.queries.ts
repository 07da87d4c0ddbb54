import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Creation time of the first enrollment token among those that are still stored. */
export const firstTokenAt = async (tx: Tx, tenant: TenantId): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('enrollment_tokens')
    .select('created_at')
    .where('tenant_id', '=', tenant)
    .orderBy('created_at')
    .orderBy('token_id')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at
}
