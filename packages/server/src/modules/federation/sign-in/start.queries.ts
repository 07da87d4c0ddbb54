import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Returns the creation time of the first enabled identity provider. */
export const firstProviderAt = async (tx: Tx, tenant: TenantId): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('identity_providers')
    .select('created_at')
    .where('tenant_id', '=', tenant)
    .where('enabled', '=', true)
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at
}
