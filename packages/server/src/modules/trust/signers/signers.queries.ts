import { type SelectQueryBuilder, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { NewSigningKey, SigningKeyRow } from '../keys/keys.queries.ts'

export const selectSigners = (
  tx: Tx,
  tenant: TenantId,
  filter: { purpose?: string; state?: SigningKeyRow['state'] },
) => {
  let select = tx.selectFrom('signing_keys').selectAll().where('tenant_id', '=', tenant)
  if (filter.purpose !== undefined) select = select.where('purpose', '=', filter.purpose)
  if (filter.state !== undefined) select = select.where('state', '=', filter.state)
  return select
}

export const findSigner = (tx: Tx, tenant: TenantId, signerId: string): Promise<SigningKeyRow | undefined> =>
  selectSigners(tx, tenant, {}).where('signer_id', '=', signerId).executeTakeFirst()

/** Returns keys that have not ended. */
export const keysOf = (tx: Tx, tenant: TenantId, purpose: string): Promise<SigningKeyRow[]> =>
  selectSigners(tx, tenant, { purpose })
    .where('state', 'in', ['pending', 'active', 'retiring'])
    .orderBy('signer_id')
    .execute()

/**
 * Locks all keys of this purpose there ever were, until commit, so that none changes state. Rows are never deleted.
 * Returns the keys that have not ended, read after the lock.
 */
export async function lockPurpose(tx: Tx, tenant: TenantId, purpose: string): Promise<SigningKeyRow[]> {
  await selectSigners(tx, tenant, { purpose })
    .clearSelect()
    .select('signer_id')
    .orderBy('signer_id')
    .forUpdate()
    .execute()
  return keysOf(tx, tenant, purpose)
}

/** False if another key of this purpose is pending. */
export const insertPendingSigner = (tx: Tx, tenant: TenantId, key: NewSigningKey, at: Date): Promise<boolean> =>
  affectedRow(
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
        c.columns(['tenant_id', 'purpose']).where('state', '=', sql.lit<SigningKeyRow['state']>('pending')).doNothing(),
      )
      .returning('signer_id'),
  )

export const activate = (tx: Tx, tenant: TenantId, signerId: string, at: Date): Promise<SigningKeyRow | undefined> =>
  tx
    .updateTable('signing_keys')
    .set({ state: 'active', activated_at: at })
    .where('tenant_id', '=', tenant)
    .where('signer_id', '=', signerId)
    .where('state', '=', 'pending')
    .returningAll()
    .executeTakeFirst()

/** Another key takes its place; its signatures stay valid until `retireAfter`. */
export const beginRetiring = (
  tx: Tx,
  tenant: TenantId,
  signerId: string,
  retireAfter: Date,
): Promise<SigningKeyRow | undefined> =>
  tx
    .updateTable('signing_keys')
    .set({ state: 'retiring', retire_after: retireAfter })
    .where('tenant_id', '=', tenant)
    .where('signer_id', '=', signerId)
    .where('state', '=', 'active')
    .returningAll()
    .executeTakeFirst()

/** Ends a key permanently and deletes its private half. */
export const end = (
  tx: Tx,
  tenant: TenantId,
  signerId: string,
  state: 'retired' | 'compromised',
  at: Date,
): Promise<SigningKeyRow | undefined> =>
  tx
    .updateTable('signing_keys')
    .set({ state, retired_at: at, private_jwe: null })
    .where('tenant_id', '=', tenant)
    .where('signer_id', '=', signerId)
    .where('state', 'in', ['pending', 'active', 'retiring'])
    .returningAll()
    .executeTakeFirst()

export type DueSigner = { tenant_id: TenantId; signer_id: string }
/** Across tenants: keys that are due to retire, the first `limit` after one of them. */
export const dueToRetire = (tx: Tx, at: Date, after: DueSigner | undefined, limit: number): Promise<DueSigner[]> => {
  const q = tx
    .selectFrom('signing_keys')
    .select(['tenant_id', 'signer_id'])
    .where('state', '=', 'retiring')
    .where('retire_after', '<=', at)
  return afterSigner(q, after).orderBy('tenant_id').orderBy('signer_id').limit(limit).execute()
}

/** Across tenants: active issuing CAs that were made before a time, the first `limit` after one of them. */
export const activeIssuing = (
  tx: Tx,
  madeBefore: Date,
  after: DueSigner | undefined,
  limit: number,
): Promise<DueSigner[]> => {
  const q = tx
    .selectFrom('signing_keys')
    .select(['tenant_id', 'signer_id'])
    .where('purpose', '=', 'ca-issuing')
    .where('state', '=', 'active')
    .where('created_at', '<=', madeBefore)
  return afterSigner(q, after).orderBy('tenant_id').orderBy('signer_id').limit(limit).execute()
}

const afterSigner = <O>(q: SelectQueryBuilder<Tables, 'signing_keys', O>, after: DueSigner | undefined) =>
  after ? q.where(sql<boolean>`(tenant_id, signer_id) > (${after.tenant_id}::uuid, ${after.signer_id}::uuid)`) : q
