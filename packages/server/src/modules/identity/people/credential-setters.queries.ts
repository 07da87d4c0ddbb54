import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Stores the people or keys that set a user's way to sign in. */
export const noteSetters = async (
  tx: Tx,
  tenant: TenantId,
  { user, by, at }: { user: string; by: readonly string[]; at: Date },
): Promise<void> => {
  await sql`
    insert into credential_setters (tenant_id, user_id, set_by, set_at)
    select ${tenant}::uuid, ${user}::uuid, setter, ${at}::timestamptz from unnest(${by}::text[]) as setter order by setter
    on conflict (tenant_id, user_id, set_by) do update set set_at = excluded.set_at`.execute(tx)
}

/** True if one of these people or keys created the user, or set a way to sign in for them, since a time. */
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

/** Counts other people and keys that created the user, or set a way to sign in for them, since a time. */
export const countOtherSetters = async (
  tx: Tx,
  tenant: TenantId,
  { user, except, since }: { user: string; except: readonly string[]; since: Date },
): Promise<number> => {
  const { count } = await tx
    .selectFrom('credential_setters')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', user)
    .where(sql<boolean>`set_by <> all(${except}::text[])`)
    .where('set_at', '>=', since)
    .executeTakeFirstOrThrow()
  return Number(count)
}
