import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** Locks tokens and returns their remaining uses. Tokens that are revoked, expired or of another kind are missing. */
export async function lockTokens(
  tx: Tx,
  tenant: TenantId,
  tokenIds: readonly string[],
  at: Date,
): Promise<Map<string, number>> {
  if (tokenIds.length === 0) return new Map()
  const rows = await tx
    .selectFrom('enrollment_tokens')
    .select(['token_id', 'max_uses', 'uses'])
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`token_id = any(${tokenIds}::uuid[])`)
    .where('kind', '=', 'enroll')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', at)
    .orderBy('token_id')
    .forNoKeyUpdate()
    .execute()
  return new Map(rows.map((t) => [t.token_id, t.max_uses === 0 ? Number.POSITIVE_INFINITY : t.max_uses - t.uses]))
}

/** Returns those of these users whose rows another transaction has locked. */
export async function heldUsers(tx: Tx, tenant: TenantId, userIds: readonly string[]): Promise<Set<string>> {
  const select = () =>
    tx
      .selectFrom('users')
      .select('user_id')
      .where('tenant_id', '=', tenant)
      .where(sql<boolean>`user_id = any(${userIds}::uuid[])`)
  const free = new Set(
    (await select().orderBy('user_id').forNoKeyUpdate().skipLocked().execute()).map((r) => r.user_id),
  )
  return new Set((await select().execute()).flatMap((r) => (free.has(r.user_id) ? [] : [r.user_id])))
}

/**
 * Locks users and returns their numbers of devices. Users who are suspended, locked or deleted are missing. The lock
 * serializes enrollments for a user.
 */
export async function lockEnrollingUsers(
  tx: Tx,
  tenant: TenantId,
  userIds: readonly string[],
): Promise<Map<string, number>> {
  if (userIds.length === 0) return new Map()
  const active = await tx
    .selectFrom('users')
    .select('user_id')
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`user_id = any(${userIds}::uuid[])`)
    .where('status', '=', 'active')
    .where('deleted_at', 'is', null)
    .where(sql<boolean>`user_id not in (select * from locked_targets(${tenant}, 'user'))`)
    .orderBy('user_id')
    .forNoKeyUpdate()
    .execute()
  // A separate statement, so that it sees rows committed while this transaction waited for the lock.
  const { rows } = await sql<{ user_id: string; devices: number }>`
    select user_id, count(*) as devices from devices
     where tenant_id = ${tenant} and user_id = any(${userIds}::uuid[]) and status <> 'revoked'
     group by user_id`.execute(tx)
  const devices = new Map(rows.map((r) => [r.user_id, r.devices]))
  return new Map(active.map(({ user_id }) => [user_id, devices.get(user_id) ?? 0]))
}

/** Counts uses of tokens that are locked and have enough uses left. */
export async function useTokens(tx: Tx, tenant: TenantId, uses: ReadonlyMap<string, number>, at: Date): Promise<void> {
  if (uses.size === 0) return
  await sql`update enrollment_tokens t set uses = t.uses + u.uses, last_used_at = ${at}
        from unnest(${[...uses.keys()]}::uuid[], ${[...uses.values()]}::integer[]) as u (token_id, uses)
       where t.tenant_id = ${tenant} and t.token_id = u.token_id`.execute(tx)
}
