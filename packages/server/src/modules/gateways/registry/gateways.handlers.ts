import type { Output } from '@holdfast/contract'
import type { listAllGateways } from '@holdfast/contract/gateway-list'
import type { getGateway } from '@holdfast/contract/gateways'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import { requireSame, versioned } from '../../../kernel/version.ts'
import type { GatewaysDeps } from '../deps.ts'
import { gatewayStatusOf } from '../reports/status.ts'
import type { Listed } from './gateway-list.ts'
import type { GatewayRow } from './gateways.queries.ts'
import type { Gateway, GatewayRules } from './gateways.ts'
import type { Identities } from './identity.ts'

export const gatewayHandlers = (gateways: GatewayRules, identities: Identities, { now }: Pick<GatewaysDeps, 'now'>) => {
  const view = (gateway: Gateway) => viewGateway(gateway, now().getTime())
  return {
    listGateways: async ({ actor, params, query }) => {
      const found = await gateways.list(actor.tenantId, idOf('gateway_pool', params.pool_id), query)
      return { items: found.items.map(view), next_cursor: found.next_cursor }
    },
    listAllGateways: async ({ actor, query: { pool_id, ...query } }) => {
      const filter = { ...query, ...(pool_id !== undefined && { pool_id: idOf('gateway_pool', pool_id) }) }
      const found = await gateways.listAll(actor.tenantId, filter)
      const at = now().getTime()
      return { items: found.items.map((listed) => viewListed(listed, at)), next_cursor: found.next_cursor }
    },
    createGateway: async ({ actor, params, body }) => {
      const { gateway, secret } = await gateways.create(actor, idOf('gateway_pool', params.pool_id), body)
      return { gateway: view(gateway), secret }
    },
    getGateway: async ({ actor, params }) => {
      const gateway = await gateways.get(actor.tenantId, idOf('gateway', params.gateway_id))
      return versioned(gateway.row, view(gateway))
    },
    updateGateway: async ({ actor, params, body, expected }) => {
      const { name, endpoints, public_key, weight } = body
      const fields = { name, endpoints, public_key, weight }
      return view(
        await gateways.replace(actor, idOf('gateway', params.gateway_id), fields, (before) => {
          expected.require(before)
          requireSame(viewFixed(before), body, fixed)
        }),
      )
    },
    deleteGateway: async ({ actor, params, expected }) => ({
      changed: await gateways.remove(actor, idOf('gateway', params.gateway_id), expected),
    }),
    rotateGatewaySecret: async ({ actor, params }) => {
      const { gateway, secret, oldValidUntil } = await gateways.rotateSecret(actor, idOf('gateway', params.gateway_id))
      return { gateway: view(gateway), secret, old_secret_valid_until: oldValidUntil.toISOString() }
    },
    approveGateway: async ({ actor, params, body }) => {
      const id = idOf('gateway', params.gateway_id)
      const { changed } = await identities.approve(actor, id, body.public_key)
      return { gateway: view(await gateways.get(actor.tenantId, id)), changed }
    },
    identifyGateway: async ({ actor, body }) => {
      const { row, changed } = await identities.announce(actor, body)
      const approval = row.proposed_key === null ? 'approved' : 'pending'
      return { changed, approval, public_key: row.public_key }
    },
    drainGateway: async ({ actor, params, body, expected }) => {
      const id = idOf('gateway', params.gateway_id)
      const { gateway, changed } = await gateways.drain(actor, id, body, expected)
      return { gateway: view(gateway), changed }
    },
  } satisfies Partial<Handlers>
}

/** Fields that a PUT cannot change, and may send back unchanged. */
const fixed = ['gateway_id', 'tenant_id', 'pool_id', 'created_at'] as const
const viewFixed = (row: GatewayRow) => ({
  gateway_id: encodeId('gateway', row.gateway_id),
  tenant_id: encodeId('tenant', row.tenant_id),
  pool_id: encodeId('gateway_pool', row.pool_id),
  created_at: row.created_at.toISOString(),
})
const viewGateway = ({ row, activity, poolName }: Gateway, nowMs: number): Output<typeof getGateway> => ({
  ...viewFixed(row),
  pool_name: poolName,
  name: row.name,
  endpoints: row.endpoints,
  public_key: row.public_key,
  proposed_key: row.proposed_key,
  listen_port: row.listen_port,
  capabilities: row.capabilities,
  weight: row.weight,
  ...gatewayStatusOf(row, activity?.last_seen_at.getTime() ?? null, nowMs),
  version: activity?.version ?? row.version,
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
  apply_error: activity?.apply_error ?? null,
  system: activity?.system ?? null,
})
/** Status and version are those that the filters compared. */
const viewListed = (
  { snapshot: { gateway, pool, status, reason, version }, activity }: Listed,
  nowMs: number,
): Output<typeof listAllGateways>['items'][number] => ({
  ...viewGateway({ row: gateway, activity, poolName: pool.name }, nowMs),
  status,
  status_reason: reason,
  version,
})
