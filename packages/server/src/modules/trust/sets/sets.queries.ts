import { sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { deleting } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export const newestSet = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('trust_sets')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst()

/** False if another replica has already issued this version. */
export const insertSet = (
  tx: Tx,
  tenant: TenantId,
  set: { version: number; document: object; expires_at: Date; trust_kids: string[]; anchor_kids: string[] },
) =>
  affectedRow(
    tx
      .insertInto('trust_sets')
      .values({ ...set, tenant_id: tenant, document: JSON.stringify(set.document) })
      .onConflict((c) => c.columns(['tenant_id', 'version']).doNothing())
      .returning('version'),
  )

/** Sets from a version on and before another, oldest first, without their documents. */
export const setsBetween = (tx: Tx, tenant: TenantId, after: number, before: number) =>
  tx
    .selectFrom('trust_sets')
    .select(['version', 'trust_kids'])
    .where('tenant_id', '=', tenant)
    .where('version', '>=', after)
    .where('version', '<', before)
    .orderBy('version')
    .execute()

export const setsOf = (tx: Tx, tenant: TenantId, versions: readonly number[]) =>
  tx
    .selectFrom('trust_sets')
    .select(['version', 'document'])
    .where('tenant_id', '=', tenant)
    .where('version', '=', sql<number>`any(${versions}::bigint[])`)
    .orderBy('version')
    .execute()

/** Returns the first version that lists a key. */
export const firstListing = async (tx: Tx, tenant: TenantId, kid: string): Promise<number | undefined> => {
  const row = await tx
    .selectFrom('trust_sets')
    .select((eb) => eb.fn.min('version').as('version'))
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`(trust_kids || anchor_kids) @> ${[kid]}::text[]`)
    .executeTakeFirst()
  return row?.version ?? undefined
}

/**
 * Keeps the newest set even if it has expired. Of the sets that list the same trust-set keys it keeps the last one,
 * from which the chain continues.
 */
export const pruneSets = deleting(
  'trust_sets',
  sql`expires_at < ${purgeTime} and exists (
    select from trust_sets newer where newer.tenant_id = trust_sets.tenant_id
      and newer.version = (select min(next.version) from trust_sets next
        where next.tenant_id = trust_sets.tenant_id and next.version > trust_sets.version)
      and newer.trust_kids = trust_sets.trust_kids)`,
)
