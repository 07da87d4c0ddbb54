import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { LimitGrant } from '../../../kernel/allowance.ts'

export type GatewayRow = Selectable<Tables['gateways']>
export type GatewayFields = Pick<GatewayRow, 'name' | 'endpoints' | 'public_key' | 'weight'>

export const selectGateways = (tx: Tx, tenant: TenantId, poolId: string) =>
  tx
    .selectFrom('gateways')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('pool_id', '=', poolId)
    .where('deleted_at', 'is', null)

/** Also returns deleted gateways. */
export const findGateway = (tx: Tx, tenant: TenantId, gatewayId: string): Promise<GatewayRow | undefined> =>
  tx
    .selectFrom('gateways')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', gatewayId)
    .executeTakeFirst()

/**
 * Locks the gateway until commit: nobody else changes it, rotates its secret or stores its traffic. Deleted gateways
 * are not found.
 */
export const lockGateway = (tx: Tx, tenant: TenantId, gatewayId: string): Promise<GatewayRow | undefined> =>
  tx
    .selectFrom('gateways')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', gatewayId)
    .where('deleted_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()

export const insertGateway = (
  tx: Tx,
  _: LimitGrant,
  tenant: TenantId,
  id: { gatewayId: string; poolId: string },
  f: GatewayFields,
  at: Date,
): Promise<GatewayRow> =>
  tx
    .insertInto('gateways')
    .values({
      ...f,
      tenant_id: tenant,
      gateway_id: id.gatewayId,
      pool_id: id.poolId,
      endpoints: JSON.stringify(f.endpoints),
      drain_reason: null,
      created_at: at,
      updated_at: at,
      deleted_at: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()

export const updateGateway = (
  tx: Tx,
  tenant: TenantId,
  gatewayId: string,
  f: GatewayFields,
  at: Date,
): Promise<GatewayRow> =>
  tx
    .updateTable('gateways')
    .set({
      ...f,
      endpoints: JSON.stringify(f.endpoints),
      // An administrator who sets the proposed key approves it.
      proposed_key: sql`nullif(proposed_key, ${f.public_key})`,
      updated_at: at,
    })
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', gatewayId)
    .returningAll()
    .executeTakeFirstOrThrow()

export const setDraining = (
  tx: Tx,
  tenant: TenantId,
  gatewayId: string,
  draining: boolean,
  reason: string | null,
  at: Date,
): Promise<GatewayRow | undefined> =>
  tx
    .updateTable('gateways')
    .set({ draining, drain_reason: reason, drained_at: draining ? at : null, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', gatewayId)
    .where('deleted_at', 'is', null)
    .where('draining', '<>', draining)
    .returningAll()
    .executeTakeFirst()

export const markGatewayDeleted = (
  tx: Tx,
  tenant: TenantId,
  gatewayId: string,
  at: Date,
): Promise<GatewayRow | undefined> =>
  tx
    .updateTable('gateways')
    .set({ deleted_at: at, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', gatewayId)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()

export const activityOfGateways = (tx: Tx, tenant: TenantId, gatewayIds: readonly string[]) =>
  tx
    .selectFrom('gateway_activity')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', sql<string>`any(${gatewayIds}::uuid[])`)
    .execute()

/** Counts the gateways, and those that have not reported a trust set of this version or a later one. */
export async function trustCoverageOfGateways(tx: Tx, tenant: TenantId, version: number) {
  const { rows } = await sql<{ total: number; behind: number }>`
    select count(*) as total, count(*) filter (where coalesce(a.applied_trust_version, 0) < ${version}) as behind
      from gateways g left join gateway_activity a on a.tenant_id = g.tenant_id and a.gateway_id = g.gateway_id
     where g.tenant_id = ${tenant} and g.deleted_at is null`.execute(tx)
  return rows[0] ?? { total: 0, behind: 0 }
}
