import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { deleting } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type Request = Selectable<Tables['saml_requests']>
type Assertion = Omit<Selectable<Tables['saml_assertions']>, 'tenant_id'>

export const insertSamlRequest = (tx: Tx, request: Request) => tx.insertInto('saml_requests').values(request).execute()

/** Takes the request of this browser for this provider. Only the first call with its state gets it. */
export const takeSamlRequest = (
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

/** Returns a request that could not be taken, also an expired one. */
export const findSamlRequest = (
  tx: Tx,
  tenant: TenantId,
  state_digest: Buffer,
): Promise<Pick<Request, 'provider_id' | 'browser_digest' | 'expires_at'> | undefined> =>
  tx
    .selectFrom('saml_requests')
    .select(['provider_id', 'browser_digest', 'expires_at'])
    .where('tenant_id', '=', tenant)
    .where('state_digest', '=', state_digest)
    .executeTakeFirst()

type OfDevice = { state_digest: Buffer; challenge_digest: Buffer; jkt: string }

/** Returns the address to which the response for a device is handed over. Any browser with the state may ask. */
export const findHandOver = (
  tx: Tx,
  tenant: TenantId,
  key: { state_digest: Buffer; provider_id: string },
  at: Date,
): Promise<Pick<Request, 'redirect_uri'> | undefined> =>
  tx
    .selectFrom('saml_requests')
    .select('redirect_uri')
    .where('tenant_id', '=', tenant)
    .where('state_digest', '=', key.state_digest)
    .where('provider_id', '=', key.provider_id)
    .where('jkt', 'is not', null)
    .where('expires_at', '>', at)
    .executeTakeFirst()

/** Returns the request for the device itself. Challenge and key must be those that began the request. */
export const findRequestOfDevice = (tx: Tx, tenant: TenantId, key: OfDevice, at: Date): Promise<Request | undefined> =>
  tx
    .selectFrom('saml_requests')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('state_digest', '=', key.state_digest)
    .where('challenge_digest', '=', key.challenge_digest)
    .where('jkt', '=', key.jkt)
    .where('expires_at', '>', at)
    .executeTakeFirst()

/** True for the one enrollment that uses the request. */
export const takeRequestOfDevice = (tx: Tx, tenant: TenantId, key: OfDevice, at: Date): Promise<boolean> =>
  affectedRow(
    tx
      .deleteFrom('saml_requests')
      .where('tenant_id', '=', tenant)
      .where('state_digest', '=', key.state_digest)
      .where('challenge_digest', '=', key.challenge_digest)
      .where('jkt', '=', key.jkt)
      .where('expires_at', '>', at)
      .returning('state_digest'),
  )

/** Stores these assertions as used. Returns those that were not used before. */
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
