import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type SigningKeyRow = Selectable<Tables['signing_keys']>
export type CrossRow = Selectable<Tables['cross_certificates']>
export type NewSigningKey = Pick<
  SigningKeyRow,
  'signer_id' | 'kid' | 'purpose' | 'alg' | 'provider' | 'private_jwe' | 'certificate'
> & {
  public_jwk: object
}

const active = sql.lit<SigningKeyRow['state']>('active')
const rowsOf = (tenant: TenantId, keys: readonly NewSigningKey[], at: Date) =>
  keys.map((k) => ({
    ...k,
    tenant_id: tenant,
    state: 'active' as const,
    activated_at: at,
    created_at: at,
    public_jwk: JSON.stringify(k.public_jwk),
  }))

/** Inserts nothing if a concurrent start has committed its keys: each purpose has one active key. */
export const insertKeysUnlessThere = (tx: Tx, tenant: TenantId, keys: readonly NewSigningKey[], at: Date) =>
  tx
    .insertInto('signing_keys')
    .values(rowsOf(tenant, keys, at))
    .onConflict((c) => c.columns(['tenant_id', 'purpose']).where('state', '=', active).doNothing())
    .execute()

/** Inserts keys that replace those retired or ended in this transaction. */
export const insertKeys = (tx: Tx, tenant: TenantId, keys: readonly NewSigningKey[], at: Date) =>
  tx
    .insertInto('signing_keys')
    .values(rowsOf(tenant, keys, at))
    .execute()

/** Returns keys whose signatures are valid, or will be, oldest first. */
export const usableKeys = (tx: Tx, tenant: TenantId): Promise<SigningKeyRow[]> =>
  tx
    .selectFrom('signing_keys')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('state', 'in', ['pending', 'active', 'retiring'])
    .orderBy('created_at')
    .orderBy('signer_id')
    .execute()

export const crossesOf = (tx: Tx, tenant: TenantId): Promise<CrossRow[]> =>
  tx
    .selectFrom('cross_certificates')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .orderBy('created_at')
    .orderBy('issuer_id')
    .execute()

/**
 * Records a new key. The row that refers to the key removes the record. By the database's clock, as the triggers are.
 */
export const noteUnneeded = (tx: Tx, kid: string) =>
  sql`insert into unneeded_token_keys (kid, destroy_after) values (${kid}, now() + interval '1 hour')`.execute(tx)

export async function dueToDestroy(tx: Tx): Promise<string[]> {
  const due = await tx
    .selectFrom('unneeded_token_keys')
    .select('kid')
    .where('destroy_after', '<=', sql<Date>`now()`)
    .orderBy('destroy_after')
    .limit(1000)
    .execute()
  return due.map(({ kid }) => kid)
}

export const forgetDestroyed = (tx: Tx, kid: string) =>
  tx.deleteFrom('unneeded_token_keys').where('kid', '=', kid).execute()
