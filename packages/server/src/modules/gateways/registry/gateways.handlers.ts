import type { Output } from '@holdfast/contract'
import type { getGateway } from '@holdfast/contract/gateways'
import type { Handlers } from '../../../http/serve.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import type { GatewaysDeps } from '../deps.ts'
import { statusOf } from '../reports/status.ts'
import type { Gateway, GatewayRules } from './gateways.ts'

export const gatewayHandlers = (gateways: GatewayRules, { now }: Pick<GatewaysDeps, 'now'>) => {
  const view = (gateway: Gateway) => viewGateway(gateway, now().getTime())
  return {
    listGateways: async ({ actor, params, query }) => {
      const found = await gateways.list(actor.tenantId, idOf('gateway_pool', params.pool_id), query)
      return { items: found.items.map(view), next_cursor: found.next_cursor }
    },
    createGateway: async ({ actor, params, body }) => {
      const { gateway, secret } = await gateways.create(actor, idOf('gateway_pool', params.pool_id), body)
      return { gateway: view(gateway), secret }
    },
    getGateway: async ({ actor, params }) =>
      view(await gateways.get(actor.tenantId, idOf('gateway', params.gateway_id))),
    updateGateway: async ({ actor, params, body }) =>
      view(await gateways.update(actor, idOf('gateway', params.gateway_id), body)),
    deleteGateway: async ({ actor, params }) => ({
      changed: await gateways.remove(actor, idOf('gateway', params.gateway_id)),
    }),
    rotateGatewaySecret: async ({ actor, params }) => {
      const { secret, oldValidUntil } = await gateways.rotateSecret(actor, idOf('gateway', params.gateway_id))
      return { gateway_id: params.gateway_id, secret, old_secret_valid_until: oldValidUntil.toISOString() }
    },
    drainGateway: async ({ actor, params, body }) => {
      const id = idOf('gateway', params.gateway_id)
      const { gateway, changed } = await gateways.drain(actor, id, body.draining, body.reason)
      return { gateway: view(gateway), changed }
    },
  } satisfies Partial<Handlers>
}

const viewGateway = ({ row, activity }: Gateway, nowMs: number): Output<typeof getGateway> => ({
  gateway_id: encodeId('gateway', row.gateway_id),
  tenant_id: encodeId('tenant', row.tenant_id),
  pool_id: encodeId('gateway_pool', row.pool_id),
  name: row.name,
  endpoints: row.endpoints,
  public_key: row.public_key,
  weight: row.weight,
  ...statusOf(row, activity?.last_seen_at.getTime() ?? null, nowMs),
  version: activity?.version ?? null,
  active_sessions: activity?.active_sessions ?? 0,
  rx_bps: activity?.rx_bps ?? 0,
  tx_bps: activity?.tx_bps ?? 0,
  last_seen_at: activity?.last_seen_at.toISOString() ?? null,
  applied: {
    policy_digest: activity?.applied_policy_digest ?? null,
    policy_seq: activity?.applied_policy_seq ?? null,
    trust_version: activity?.applied_trust_version ?? null,
    at: activity?.applied_at?.toISOString() ?? null,
  },
  created_at: row.created_at.toISOString(),
})
