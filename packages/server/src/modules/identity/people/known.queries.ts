import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** True if the user exists and is not deleted. */
export const userExists = async (tx: Tx, tenant: TenantId, userId: string) =>
  (await tx
    .selectFrom('users')
    .select('user_id')
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', userId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()) !== undefined

/** Also returns the name of a deleted user. Undefined if the user never existed. */
export const usernameOf = async (tx: Tx, tenant: TenantId, userId: string): Promise<string | undefined> =>
  (
    await tx
      .selectFrom('users')
      .select('username')
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', userId)
      .executeTakeFirst()
  )?.username

/** Returns those of these ids that exist in the tenant. */
export const knownGroups = async (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  ids.length === 0
    ? []
    : (
        await tx
          .selectFrom('groups')
          .select('group_id')
          .where('tenant_id', '=', tenant)
          .where('group_id', 'in', [...ids])
          .execute()
      ).map((r) => r.group_id)

/** Counts up to `most`. */
export const countSuspended = async (tx: Tx, tenant: TenantId, most: number): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from (
      select from users where tenant_id = ${tenant} and status = 'suspended' and deleted_at is null
      limit ${most}) as counted`.execute(tx)
  return rows[0]?.n ?? 0
}

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
