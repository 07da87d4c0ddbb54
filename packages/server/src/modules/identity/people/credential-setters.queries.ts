import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Notes who else set what a user signs in with; `by` is in order, as all do who write several. */
export const noteSetters = async (
  tx: Tx,
  tenant: TenantId,
  { user, by, at }: { user: string; by: readonly string[]; at: Date },
): Promise<void> => {
  await tx
    .insertInto('credential_setters')
    .values(by.map((set_by) => ({ tenant_id: tenant, user_id: user, set_by, set_at: at })))
    .onConflict((c) => c.columns(['tenant_id', 'user_id', 'set_by']).doUpdateSet({ set_at: at }))
    .execute()
}

/** Whether one of these people or keys made the user, or set what they sign in with, since then. */
export const wasSetBy = async (
  tx: Tx,
  tenant: TenantId,
  { user, by, since }: { user: string; by: readonly string[]; since: Date },
): Promise<boolean> =>
  (await tx
    .selectFrom('credential_setters')
    .select('set_at')
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', user)
    .where('set_by', 'in', by)
    .where('set_at', '>=', since)
    .executeTakeFirst()) !== undefined
