import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { deleting } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** False if the token was used before. */
export const spendLogoutToken = (tx: Tx, token: Selectable<Tables['logout_tokens']>): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('logout_tokens')
      .values(token)
      .onConflict((c) => c.columns(['tenant_id', 'provider_id', 'jti_digest']).doNothing())
      .returning('jti_digest'),
  )

/**
 * True if a logout token covers this sign-in: for its session at the provider, or for all sessions of the account,
 * issued after the ID token. The provider's row is locked, so no other logout token is stored before commit.
 */
export const wasSignedOut = (
  tx: Tx,
  tenant: TenantId,
  provider: string,
  { subject, sid, claims: { iat } }: { subject: string; sid: string | null; claims: Readonly<Record<string, unknown>> },
): Promise<boolean> =>
  affectedRow(
    tx
      .selectFrom('logout_tokens')
      .select('jti_digest')
      .where('tenant_id', '=', tenant)
      .where('provider_id', '=', provider)
      .where(
        sql<boolean>`coalesce(subject = ${subject}, true)
          and coalesce(sid = ${sid}::text, sid is null and issued_at > to_timestamp(${Number(iat)}))`,
      )
      .limit(1),
  )

export const pruneLogoutTokens = deleting('logout_tokens', sql`good_until < now()`)
