import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { deleting } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type Request = Selectable<Tables['sign_in_requests']>

export const insertSignInRequest = (tx: Tx, request: Request) =>
  tx.insertInto('sign_in_requests').values(request).execute()

/** Takes the request of this browser for this provider. Only the first call with its state gets it. */
export const takeSignInRequest = (
  tx: Tx,
  tenant: TenantId,
  key: Pick<Request, 'state_digest' | 'provider_id' | 'browser_digest'>,
  at: Date,
): Promise<Request | undefined> =>
  tx
    .deleteFrom('sign_in_requests')
    .where('tenant_id', '=', tenant)
    .where('state_digest', '=', key.state_digest)
    .where('provider_id', '=', key.provider_id)
    .where('browser_digest', '=', key.browser_digest)
    .where('expires_at', '>', at)
    .returningAll()
    .executeTakeFirst()

/** Returns a request that could not be taken, also an expired one. */
export const findSignInRequest = (
  tx: Tx,
  tenant: TenantId,
  state_digest: Buffer,
): Promise<Pick<Request, 'provider_id' | 'browser_digest' | 'expires_at'> | undefined> =>
  tx
    .selectFrom('sign_in_requests')
    .select(['provider_id', 'browser_digest', 'expires_at'])
    .where('tenant_id', '=', tenant)
    .where('state_digest', '=', state_digest)
    .executeTakeFirst()

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

export const pruneRequests = deleting('sign_in_requests', sql`expires_at < now()`)
