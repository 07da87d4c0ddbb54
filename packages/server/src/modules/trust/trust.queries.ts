import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { happened } from '../../db/happened.ts'
import { deleting } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type NewKey = Omit<Selectable<Tables['signing_keys']>, 'tenant_id' | 'state' | 'public_jwk' | 'created_at'> & {
  public_jwk: object
}

/** One active key a purpose: another start's keys, once committed, keep all of these out. */
export const insertKeysUnlessThere = (tx: Tx, tenant: TenantId, keys: NewKey[]) =>
  tx
    .insertInto('signing_keys')
    .values(
      keys.map((k) => ({
        ...k,
        tenant_id: tenant,
        state: 'active' as const,
        public_jwk: JSON.stringify(k.public_jwk),
      })),
    )
    .onConflict((c) => c.columns(['tenant_id', 'purpose']).where('state', '=', 'active').doNothing())
    .execute()

/** Keys whose signatures still count, oldest first. */
export const usableKeys = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('signing_keys')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('state', 'in', ['active', 'retiring'])
    .orderBy('created_at')
    .orderBy('signer_id')
    .execute()

export const newestSet = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('trust_sets')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()

/** False when another replica has issued this version already. */
export const insertSet = (tx: Tx, tenant: TenantId, set: { version: number; document: object; expires_at: Date }) =>
  happened(
    tx
      .insertInto('trust_sets')
      .values({ ...set, tenant_id: tenant, document: JSON.stringify(set.document) })
      .onConflict((c) => c.columns(['tenant_id', 'version']).doNothing())
      .returning('version'),
  )

/** The newest stays, also when its time is over. */
export const pruneSets = deleting(
  'trust_sets',
  sql`expires_at < now() and version < (
    select max(newest.version) from trust_sets newest where newest.tenant_id = trust_sets.tenant_id)`,
)
