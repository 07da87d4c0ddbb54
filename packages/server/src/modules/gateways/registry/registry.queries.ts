import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import type { GatewayRow } from './gateways.queries.ts'
import type { PoolRow } from './pools.queries.ts'

export const allPools = (tx: Tx, tenant: TenantId): Promise<PoolRow[]> =>
  tx
    .selectFrom('gateway_pools')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .orderBy('name')
    .orderBy('pool_id')
    .execute()

export const allGateways = (tx: Tx, tenant: TenantId): Promise<(GatewayRow & { locked: boolean })[]> =>
  tx
    .selectFrom('gateways')
    .selectAll()
    .select(sql<boolean>`gateway_id in (select * from locked_targets(${tenant}, 'gateway'))`.as('locked'))
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)
    .orderBy('gateway_id')
    .execute()

export const livenessOf = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('gateway_activity')
    .select(['gateway_id', 'last_seen_at', 'active_sessions', 'up_since', 'version', 'applied_policy_seq'])
    .where('tenant_id', '=', tenant)
    .execute()
