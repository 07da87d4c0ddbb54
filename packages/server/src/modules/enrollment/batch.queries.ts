import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

/** How many uses each of these tokens has left. One that is revoked, expired or of another kind is missing. */
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

/** Which of these users somebody else holds just now. */
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
 * How many devices each of these users has; one who is suspended, locked or deleted is missing. Enrollments for one
 * user count one after the other.
 */
export async function lockUsers(tx: Tx, tenant: TenantId, userIds: readonly string[]): Promise<Map<string, number>> {
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
  // A statement of its own, so that it sees what was committed while the lock was waited for.
  const { rows } = await sql<{ user_id: string; devices: number }>`
    select user_id, count(*) as devices from devices
     where tenant_id = ${tenant} and user_id = any(${userIds}::uuid[]) and status <> 'revoked'
     group by user_id`.execute(tx)
  const devices = new Map(rows.map((r) => [r.user_id, r.devices]))
  return new Map(active.map(({ user_id }) => [user_id, devices.get(user_id) ?? 0]))
}

/** Takes uses of tokens that are locked and have them. */
export async function useTokens(tx: Tx, tenant: TenantId, uses: ReadonlyMap<string, number>, at: Date): Promise<void> {
  if (uses.size === 0) return
  await sql`update enrollment_tokens t set uses = t.uses + u.uses, last_used_at = ${at}
        from unnest(${[...uses.keys()]}::uuid[], ${[...uses.values()]}::integer[]) as u (token_id, uses)
       where t.tenant_id = ${tenant} and t.token_id = u.token_id`.execute(tx)
}
