import { type Insertable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { hasPrefix } from '../../db/page.ts'
import { purging } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

type TokenStatus = 'active' | 'exhausted' | 'expired' | 'revoked'

export const insertToken = (tx: Tx, row: Insertable<Tables['enrollment_tokens']>) =>
  tx.insertInto('enrollment_tokens').values(row).returningAll().executeTakeFirstOrThrow()

export const findToken = (tx: Tx, tenant: TenantId, tokenId: string) =>
  tx
    .selectFrom('enrollment_tokens')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', tokenId)
    .executeTakeFirst()

/** Locks the token until commit, so that no other transaction revokes it. */
export const lockToken = (tx: Tx, tenant: TenantId, tokenId: string) =>
  tx
    .selectFrom('enrollment_tokens')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', tokenId)
    .forNoKeyUpdate()
    .executeTakeFirst()

export const findTokenByLookup = (tx: Tx, tenant: TenantId, lookup: string) =>
  tx
    .selectFrom('enrollment_tokens')
    .select(['token_id', 'name', 'secret_digest', 'revoked_at', 'expires_at', 'kind', 'user_id', 'group_ids', 'tags'])
    .select(['platforms', 'allowed_cidrs', 'requires_approval', 'ephemeral_seconds', 'max_devices_per_user'])
    .where('tenant_id', '=', tenant)
    .where('lookup', '=', lookup)
    .executeTakeFirst()

/** Status precedence: revoked, expired, exhausted, active. */
export const selectTokens = (tx: Tx, tenant: TenantId, f: { status?: TokenStatus; q?: string }, at: Date) => {
  let q = tx.selectFrom('enrollment_tokens').selectAll().where('tenant_id', '=', tenant)
  if (f.status) q = q.where('revoked_at', f.status === 'revoked' ? 'is not' : 'is', null)
  if (f.status === 'expired') q = q.where('expires_at', '<=', at)
  if (f.status === 'active' || f.status === 'exhausted')
    q = q.where('expires_at', '>', at).where('is_spent', '=', f.status === 'exhausted')
  if (f.q) q = q.where(hasPrefix('name_key', f.q))
  return q
}

export const findTokens = (tx: Tx, tenant: TenantId, ids: readonly string[]) =>
  tx
    .selectFrom('enrollment_tokens')
    .select(['token_id', 'name', 'hint', 'kind', 'max_uses', 'uses', 'expires_at', 'revoked_at'])
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute()

/** Of two concurrent revocations exactly one gets the row back. */
export const revokeToken = (tx: Tx, tenant: TenantId, tokenId: string, at: Date) =>
  tx
    .updateTable('enrollment_tokens')
    .set({ revoked_at: at })
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', tokenId)
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst()

/** Revokes the unexpired tokens of these users. Of concurrent callers, only one gets a given token back. */
export const revokeTokensOf = async (tx: Tx, tenant: TenantId, users: readonly string[], at: Date) => {
  const { rows } = await sql<{ token_id: string; name: string }>`
    with locked as (
      select token_id from enrollment_tokens
      where tenant_id = ${tenant} and user_id = any(${users}::uuid[]) and revoked_at is null and expires_at > ${at}
      order by token_id for no key update)
    update enrollment_tokens t set revoked_at = ${at} from locked
    where t.tenant_id = ${tenant} and t.token_id = locked.token_id
    returning t.token_id, t.name`.execute(tx)
  return rows
}

/** Tokens created by one of `makers` (TypeIDs) that are neither revoked nor expired. */
export const findTokensMadeBy = async (tx: Tx, tenant: TenantId, makers: readonly string[], at: Date) => {
  const { rows } = await sql<{ token_id: string }>`
    select token_id from enrollment_tokens
    where tenant_id = ${tenant} and created_by = any(${makers}::text[]) and revoked_at is null and expires_at > ${at}
    order by token_id`.execute(tx)
  return rows.map((r) => r.token_id)
}

/**
 * Revokes the unexpired tokens created by one of `makers` (TypeIDs). Of concurrent callers, only one gets a given token
 * back.
 */
export const revokeTokensMadeBy = async (tx: Tx, tenant: TenantId, makers: readonly string[], at: Date) => {
  const { rows } = await sql<{ token_id: string; name: string }>`
    with locked as (
      select token_id from enrollment_tokens
      where tenant_id = ${tenant} and created_by = any(${makers}::text[]) and revoked_at is null and expires_at > ${at}
      order by token_id for no key update)
    update enrollment_tokens t set revoked_at = ${at} from locked
    where t.tenant_id = ${tenant} and t.token_id = locked.token_id
    returning t.token_id, t.name`.execute(tx)
  return rows
}

/** Bypasses tenant isolation: a platform administrator may create tokens in any tenant. */
export const tenantsWithTokensMadeBy = async (tx: Tx, makers: readonly string[], at: Date) => {
  const { rows } = await sql<{ tenant_id: TenantId }>`
    select distinct tenant_id from enrollment_tokens
    where created_by = any(${makers}::text[]) and revoked_at is null and expires_at > ${at}
    order by tenant_id`.execute(tx)
  return rows.map((r) => r.tenant_id)
}

/** Purges tokens without devices. A token with devices stays as long as they do. */
export const pruneTokens = purging(
  'enrollment_tokens',
  'enrollment_tokens',
  (before) => sql`least(revoked_at, expires_at) < ${before} and not exists (
    select from devices d where d.tenant_id = enrollment_tokens.tenant_id and d.token_id = enrollment_tokens.token_id)`,
)

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
