import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Gateway, GatewayStatus } from './gateways.ts'
import { Id, List, ListQuery, Prefix } from './schema.ts'

export const listAllGateways = endpoint({
  method: 'GET',
  path: '/v1/admin/gateways',
  summary: 'List the gateways of all pools',
  access: { by: ['session', 'api_key'], permission: 'gateways:read' },
  query: ListQuery(
    {
      pool_id: Type.Optional(Id('gateway_pool')),
      status: Type.Optional(GatewayStatus),
      version: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description: 'Only gateways with this version, exactly as the gateway reports it',
        }),
      ),
      q: Prefix,
    },
    ['name', 'created_at'] as const,
    'name',
  ),
  response: List(Gateway),
})
