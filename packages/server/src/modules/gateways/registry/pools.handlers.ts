import type { Output } from '@holdfast/contract'
import type { getGatewayPool } from '@holdfast/contract/gateways'
import type { Handlers } from '../../../http/serve.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import type { Pool, Pools } from './pools.ts'

export const poolHandlers = (pools: Pools) =>
  ({
    listGatewayPools: async ({ actor, query }) => {
      const found = await pools.list(actor.tenantId, query)
      return { items: found.items.map(viewPool), next_cursor: found.next_cursor }
    },
    createGatewayPool: async ({ actor, body }) => viewPool(await pools.create(actor, body)),
    getGatewayPool: async ({ actor, params }) =>
      viewPool(await pools.get(actor.tenantId, idOf('gateway_pool', params.pool_id))),
    updateGatewayPool: async ({ actor, params, body }) =>
      viewPool(await pools.update(actor, idOf('gateway_pool', params.pool_id), body)),
    deleteGatewayPool: async ({ actor, params }) => {
      await pools.remove(actor, idOf('gateway_pool', params.pool_id))
      return { changed: true }
    },
  }) satisfies Partial<Handlers>

const viewPool = (p: Pool): Output<typeof getGatewayPool> => ({
  pool_id: encodeId('gateway_pool', p.pool_id),
  tenant_id: encodeId('tenant', p.tenant_id),
  name: p.name,
  region: p.region,
  protocol: p.protocol,
  selection: p.selection,
  enabled: p.enabled,
  capacity: p.capacity,
  address_cidrs: p.address_cidrs,
  health_threshold: p.health_threshold,
  gateways: p.gateways,
  created_at: p.created_at.toISOString(),
  updated_at: p.updated_at.toISOString(),
})
