import { type Selectable, sql } from 'kysely'
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

export const pruneRequests = deleting('sign_in_requests', sql`expires_at < now()`)

/** Selects the providers that the sign-in page offers. */
export const selectOffered = (tx: Tx, tenant: TenantId, most: number) =>
  tx
    .selectFrom('identity_providers')
    .select(['provider_id', 'name', 'kind'])
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)
    .where('enabled', '=', true)
    .where('sign_in', '=', true)
    .orderBy('name_key')
    .limit(most)
    .execute()
