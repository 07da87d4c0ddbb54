import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { happened } from '../../../db/happened.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { KeyRow, NewKey } from '../keys/keys.queries.ts'

export const selectSigners = (tx: Tx, tenant: TenantId, filter: { purpose?: string; state?: KeyRow['state'] }) => {
  let select = tx.selectFrom('signing_keys').selectAll().where('tenant_id', '=', tenant)
  if (filter.purpose !== undefined) select = select.where('purpose', '=', filter.purpose)
  if (filter.state !== undefined) select = select.where('state', '=', filter.state)
  return select
}

export const findSigner = (tx: Tx, tenant: TenantId, signerId: string): Promise<KeyRow | undefined> =>
  selectSigners(tx, tenant, {}).where('signer_id', '=', signerId).executeTakeFirst()

/** Those that have not ended. */
export const keysOf = (tx: Tx, tenant: TenantId, purpose: string): Promise<KeyRow[]> =>
  selectSigners(tx, tenant, { purpose })
    .where('state', 'in', ['pending', 'active', 'retiring'])
    .orderBy('signer_id')
    .execute()

/**
 * Until commit no key of this purpose moves: whoever moves one locks all that there ever were, of which none goes. Says
 * which have not ended, as of then.
 */
export async function lockPurpose(tx: Tx, tenant: TenantId, purpose: string): Promise<KeyRow[]> {
  await selectSigners(tx, tenant, { purpose })
    .clearSelect()
    .select('signer_id')
    .orderBy('signer_id')
    .forUpdate()
    .execute()
  return keysOf(tx, tenant, purpose)
}

/** False where another one of this purpose is pending. */
export const insertPending = (tx: Tx, tenant: TenantId, key: NewKey, at: Date): Promise<boolean> =>
  happened(
    tx
      .insertInto('signing_keys')
      .values({
        ...key,
        tenant_id: tenant,
        state: 'pending',
        created_at: at,
        public_jwk: JSON.stringify(key.public_jwk),
      })
      .onConflict((c) =>
        c.columns(['tenant_id', 'purpose']).where('state', '=', sql.lit<KeyRow['state']>('pending')).doNothing(),
      )
      .returning('signer_id'),
  )

export const activate = (tx: Tx, tenant: TenantId, signerId: string, at: Date): Promise<KeyRow | undefined> =>
  tx
    .updateTable('signing_keys')
    .set({ state: 'active', activated_at: at })
    .where('tenant_id', '=', tenant)
    .where('signer_id', '=', signerId)
    .where('state', '=', 'pending')
    .returningAll()
    .executeTakeFirst()

/** Signs no more; what it signed counts. */
export const beginRetiring = (
  tx: Tx,
  tenant: TenantId,
  signerId: string,
  retireAfter: Date,
): Promise<KeyRow | undefined> =>
  tx
    .updateTable('signing_keys')
    .set({ state: 'retiring', retire_after: retireAfter })
    .where('tenant_id', '=', tenant)
    .where('signer_id', '=', signerId)
    .where('state', '=', 'active')
    .returningAll()
    .executeTakeFirst()

/** For good: its private half is gone with this. */
export const end = (
  tx: Tx,
  tenant: TenantId,
  signerId: string,
  state: 'retired' | 'compromised',
  at: Date,
): Promise<KeyRow | undefined> =>
  tx
    .updateTable('signing_keys')
    .set({ state, retired_at: at, private_jwe: null })
    .where('tenant_id', '=', tenant)
    .where('signer_id', '=', signerId)
    .where('state', 'in', ['pending', 'active', 'retiring'])
    .returningAll()
    .executeTakeFirst()

/** Passes the tenant wall: keys whose time to retire has come. */
export const dueToRetire = (tx: Tx, at: Date): Promise<{ tenant_id: TenantId; signer_id: string }[]> =>
  tx
    .selectFrom('signing_keys')
    .select(['tenant_id', 'signer_id'])
    .where('state', '=', 'retiring')
    .where('retire_after', '<=', at)
    .orderBy('retire_after')
    .limit(10_000)
    .execute()
