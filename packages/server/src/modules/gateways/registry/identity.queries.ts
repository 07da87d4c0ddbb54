import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { GatewayRow } from './gateways.queries.ts'

/** Locks the pool's settings until commit (FOR SHARE). */
export const sharePool = (tx: Tx, tenant: TenantId, poolId: string) =>
  tx
    .selectFrom('gateway_pools')
    .select('requires_approval')
    .where('tenant_id', '=', tenant)
    .where('pool_id', '=', poolId)
    .forShare()
    .executeTakeFirst()

/** True if another gateway has the key or has proposed it. */
export const isKeyOfAnother = (tx: Tx, tenant: TenantId, gatewayId: string, key: string): Promise<boolean> =>
  affectedRow(
    tx
      .selectFrom('gateways')
      .select('gateway_id')
      .where('tenant_id', '=', tenant)
      .where('gateway_id', '<>', gatewayId)
      .where('deleted_at', 'is', null)
      .where((eb) => eb.or([eb('public_key', '=', key), eb('proposed_key', '=', key)])),
  )

/** Returns those of these keys that gateways have or have proposed. */
export async function keysOfGateways(tx: Tx, tenant: TenantId, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const rows = await tx
    .selectFrom('gateways')
    .select(['public_key', 'proposed_key'])
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)
    .where((eb) => eb.or([eb('public_key', 'in', keys), eb('proposed_key', 'in', keys)]))
    .execute()
  return new Set(rows.flatMap((row) => [row.public_key, row.proposed_key]).filter((key) => key !== null))
}

type Identity = Partial<
  Pick<GatewayRow, 'public_key' | 'proposed_key' | 'listen_port' | 'endpoints' | 'version' | 'capabilities'>
>
export const setIdentity = (
  tx: Tx,
  tenant: TenantId,
  gatewayId: string,
  { endpoints, ...others }: Identity,
  at: Date,
): Promise<GatewayRow> =>
  tx
    .updateTable('gateways')
    .set({ ...others, ...(endpoints && { endpoints: JSON.stringify(endpoints) }), updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', gatewayId)
    .returningAll()
    .executeTakeFirstOrThrow()

export const approveKey = (
  tx: Tx,
  tenant: TenantId,
  gatewayId: string,
  key: string,
  at: Date,
): Promise<GatewayRow | undefined> =>
  tx
    .updateTable('gateways')
    .set({ public_key: key, proposed_key: null, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', gatewayId)
    .where('deleted_at', 'is', null)
    .where('proposed_key', '=', key)
    .returningAll()
    .executeTakeFirst()
