import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { hasPrefix } from '../../../db/page.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type PoolRow = Selectable<Tables['gateway_pools']>
export type PoolFields = Omit<PoolRow, 'tenant_id' | 'pool_id' | 'created_at' | 'updated_at' | 'name_key'>

const selectPools = (tx: Tx, tenant: TenantId) =>
  tx.selectFrom('gateway_pools').selectAll().where('tenant_id', '=', tenant)

export const findPools = (tx: Tx, tenant: TenantId, q: string | undefined) =>
  q === undefined ? selectPools(tx, tenant) : selectPools(tx, tenant).where(hasPrefix('name_key', q))

export const findPool = (tx: Tx, tenant: TenantId, poolId: string): Promise<PoolRow | undefined> =>
  selectPools(tx, tenant).where('pool_id', '=', poolId).executeTakeFirst()

/** Locks the pool until commit: nobody else changes or deletes it, or adds a gateway to it. */
export const lockPool = (tx: Tx, tenant: TenantId, poolId: string): Promise<PoolRow | undefined> =>
  selectPools(tx, tenant).where('pool_id', '=', poolId).forUpdate().executeTakeFirst()

/** Undefined if the name is taken. */
export const insertPool = (
  tx: Tx,
  tenant: TenantId,
  poolId: string,
  f: PoolFields,
  at: Date,
): Promise<PoolRow | undefined> =>
  tx
    .insertInto('gateway_pools')
    .values({
      ...f,
      tenant_id: tenant,
      pool_id: poolId,
      region: JSON.stringify(f.region),
      created_at: at,
      updated_at: at,
    })
    .onConflict((c) => c.doNothing())
    .returningAll()
    .executeTakeFirst()

export const updatePool = (tx: Tx, tenant: TenantId, poolId: string, f: PoolFields, at: Date): Promise<PoolRow> =>
  tx
    .updateTable('gateway_pools')
    .set({ ...f, region: JSON.stringify(f.region), updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('pool_id', '=', poolId)
    .returningAll()
    .executeTakeFirstOrThrow()

/** Deletes the pool. A row in `deleted_pools` stays, for repeated requests. */
export async function deletePool(tx: Tx, tenant: TenantId, poolId: string, at: Date): Promise<void> {
  await tx.deleteFrom('gateway_pools').where('tenant_id', '=', tenant).where('pool_id', '=', poolId).execute()
  await tx.insertInto('deleted_pools').values({ tenant_id: tenant, pool_id: poolId, deleted_at: at }).execute()
}

export const wasPoolDeleted = async (tx: Tx, tenant: TenantId, poolId: string): Promise<boolean> =>
  (await tx
    .selectFrom('deleted_pools')
    .select('pool_id')
    .where('tenant_id', '=', tenant)
    .where('pool_id', '=', poolId)
    .executeTakeFirst()) !== undefined

/** Counts the gateways of each of these pools. A pool without gateways is absent. */
export async function countGateways(
  tx: Tx,
  tenant: TenantId,
  poolIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await tx
    .selectFrom('gateways')
    .select(['pool_id', (eb) => eb.fn.countAll<number>().as('gateways')])
    .where('tenant_id', '=', tenant)
    .where('pool_id', '=', sql<string>`any(${poolIds}::uuid[])`)
    .where('deleted_at', 'is', null)
    .groupBy('pool_id')
    .execute()
  return new Map(rows.map((r) => [r.pool_id, r.gateways]))
}
