import type { Insertable } from 'kysely'
import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { prefixPattern } from '../../db/page.ts'
import type { Tables } from '../../db/tables.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type TokenStatus = 'active' | 'exhausted' | 'expired' | 'revoked'

export const insertToken = (tx: Tx, row: Insertable<Tables['enrollment_tokens']>) =>
  tx.insertInto('enrollment_tokens').values(row).returningAll().executeTakeFirstOrThrow()

export const findToken = (tx: Tx, tenant: TenantId, tokenId: string) =>
  tx
    .selectFrom('enrollment_tokens')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', tokenId)
    .executeTakeFirst()

export const findByLookup = (tx: Tx, tenant: TenantId, lookup: string) =>
  tx
    .selectFrom('enrollment_tokens')
    .select(['token_id', 'name', 'secret_digest', 'revoked_at', 'expires_at'])
    .where('tenant_id', '=', tenant)
    .where('lookup', '=', lookup)
    .executeTakeFirst()

/** The status is computed: revoked before expired before exhausted before active. */
const statusOf = (at: Date) => sql<TokenStatus>`case
  when revoked_at is not null then 'revoked'
  when expires_at <= ${at} then 'expired'
  when max_uses > 0 and uses >= max_uses then 'exhausted'
  else 'active' end`

export const selectTokens = (tx: Tx, tenant: TenantId, f: { status?: TokenStatus; q?: string }, at: Date) => {
  let q = tx.selectFrom('enrollment_tokens').selectAll().where('tenant_id', '=', tenant)
  if (f.status) q = q.where(statusOf(at), '=', f.status)
  if (f.q) q = q.where(sql<boolean>`lower(name) like ${prefixPattern(f.q)}`)
  return q
}

/** Of two concurrent revokes exactly one gets the row back. */
export const revokeToken = (tx: Tx, tenant: TenantId, tokenId: string, at: Date) =>
  tx
    .updateTable('enrollment_tokens')
    .set({ revoked_at: at })
    .where('tenant_id', '=', tenant)
    .where('token_id', '=', tokenId)
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
