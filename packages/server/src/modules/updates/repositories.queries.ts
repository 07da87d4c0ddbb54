import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/**
 * Serializes publishing, adding packages and changing the root until commit, so that rules about all of them are exact.
 */
export async function lockRepository(tx: Tx, tenant: TenantId): Promise<void> {
  await tx
    .insertInto('update_repositories')
    .values({ tenant_id: tenant })
    .onConflict((c) => c.doNothing())
    .execute()
  await tx
    .selectFrom('update_repositories')
    .select('tenant_id')
    .where('tenant_id', '=', tenant)
    .forUpdate()
    .executeTakeFirstOrThrow()
}
