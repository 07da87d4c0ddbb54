import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Until commit nobody else publishes, adds a package or changes the root: what is a matter of all of them is judged. */
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
