import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Returns when the first version of the policy that is still kept was published. */
export const firstPublishAt = async (tx: Tx, tenant: TenantId): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('policy_bundles')
    .select('published_at')
    .where('tenant_id', '=', tenant)
    .orderBy('version')
    .limit(1)
    .executeTakeFirst()
  return row?.published_at
}
