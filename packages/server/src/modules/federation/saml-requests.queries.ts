import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { deleting } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

type Request = Selectable<Tables['saml_requests']>
type Assertion = Omit<Selectable<Tables['saml_assertions']>, 'tenant_id'>

export const insertRequest = (tx: Tx, request: Request) => tx.insertInto('saml_requests').values(request).execute()

/** The request of this browser for this provider, for the one call that shows its state first. */
export const takeRequest = (
  tx: Tx,
  tenant: TenantId,
  key: { state_digest: Buffer; provider_id: string; browser_digest: Buffer },
  at: Date,
): Promise<Request | undefined> =>
  tx
    .deleteFrom('saml_requests')
    .where('tenant_id', '=', tenant)
    .where('state_digest', '=', key.state_digest)
    .where('provider_id', '=', key.provider_id)
    .where('browser_digest', '=', key.browser_digest)
    .where('expires_at', '>', at)
    .returningAll()
    .executeTakeFirst()

/** Those of these assertions that nobody brought before; from now on they have been brought. */
export async function spendAssertions(
  tx: Tx,
  tenant: TenantId,
  assertions: readonly Assertion[],
): Promise<{ provider_id: string; assertion_id: string }[]> {
  if (assertions.length === 0) return []
  return tx
    .insertInto('saml_assertions')
    .values(assertions.map((assertion) => ({ ...assertion, tenant_id: tenant })))
    .onConflict((c) => c.columns(['tenant_id', 'provider_id', 'assertion_id']).doNothing())
    .returning(['provider_id', 'assertion_id'])
    .execute()
}

export const pruneSamlRequests = deleting('saml_requests', sql`expires_at < now()`)
export const pruneAssertions = deleting('saml_assertions', sql`good_until < now()`)
