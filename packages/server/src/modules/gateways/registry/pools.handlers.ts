import type { Output } from '@holdfast/contract'
import type { getGatewayPool } from '@holdfast/contract/gateways'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { requireSame, versioned } from '../../../kernel/version.ts'
import type { PoolFields, PoolRow } from './pools.queries.ts'
import type { Pool, Pools } from './pools.ts'

export const poolHandlers = (pools: Pools) =>
  ({
    listGatewayPools: async ({ actor, query }) => {
      const found = await pools.list(actor.tenantId, query)
      return { items: found.items.map(viewPool), next_cursor: found.next_cursor }
    },
    createGatewayPool: async ({ actor, body }) => viewPool(await pools.create(actor, body)),
    getGatewayPool: async ({ actor, params }) =>
      showPool(await pools.get(actor.tenantId, idOf('gateway_pool', params.pool_id))),
    updateGatewayPool: async ({ actor, params, body, expected }) => {
      return viewPool(
        await pools.replace(actor, idOf('gateway_pool', params.pool_id), fieldsOf(body), (before) => {
          expected.require(before)
          requireSame(viewFixed(before), body, fixed)
        }),
      )
    },
    deleteGatewayPool: async ({ actor, params, expected }) => ({
      changed: await pools.remove(actor, idOf('gateway_pool', params.pool_id), expected),
    }),
  }) satisfies Partial<Handlers>

/** Configured fields of a pool. */
const fieldsOf = (p: PoolFields): PoolFields => ({
  name: p.name,
  region: p.region,
  protocol: p.protocol,
  selection: p.selection,
  enabled: p.enabled,
  capacity: p.capacity,
  health_threshold: p.health_threshold,
  nat: p.nat,
  mtu: p.mtu,
  dns: p.dns,
  fail_mode: p.fail_mode,
  lifetime_seconds: p.lifetime_seconds,
  requires_approval: p.requires_approval,
})

const showPool = ({ gateways, ...row }: Pool) => versioned(row satisfies PoolRow, viewPool({ ...row, gateways }))

/** Fields that a PUT cannot change, and may send back unchanged. */
const fixed = ['pool_id', 'tenant_id', 'created_at'] as const
const viewFixed = (p: PoolRow) => ({
  pool_id: encodeId('gateway_pool', p.pool_id),
  tenant_id: encodeId('tenant', p.tenant_id),
  created_at: p.created_at.toISOString(),
  updated_at: p.updated_at.toISOString(),
})

const viewPool = (p: Pool): Output<typeof getGatewayPool> => ({
  ...viewFixed(p),
  ...fieldsOf(p),
  gateways: p.gateways,
})
