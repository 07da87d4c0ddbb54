import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { GatewayStatus } from './gateways.ts'
import { Closed, Count, Id, List, Nullable, OneOf, pageQuery, Time } from './schema.ts'

export const historyRanges = ['24h', '30d'] as const
const range = Type.Optional(
  OneOf(historyRanges, {
    description:
      'Length of the history. `24h`: 24 steps of one hour (UTC). `30d`: 30 steps of one day (UTC). Default: `24h`',
  }),
)
const window = {
  range: OneOf(historyRanges),
  from: Time,
  to: Type.String({ format: 'date-time', description: 'Time of this answer. The last step is not complete' }),
  step_seconds: Type.Integer({ minimum: 3600, description: 'Length of a step in seconds' }),
}
const Worst = Type.Union([GatewayStatus, Type.Null()], {
  description:
    'The worst state within the step, in the order down, degraded, never_seen, pending, draining, healthy; null: unknown',
})

const GatewayHistoryStep = Closed(
  {
    at: Time,
    worst: Worst,
    seconds: Closed(
      { healthy: Count, degraded: Count, draining: Count, down: Count, never_seen: Count, pending: Count },
      {
        description:
          'Seconds of the step in each state. Their sum is less than the step if the state was unknown for a time',
      },
    ),
    sessions_most: Nullable(
      Type.Integer({
        minimum: 0,
        description: 'Highest number of sessions that the gateway reported at one time; null: no report',
      }),
    ),
  },
  { title: 'GatewayHistoryStep' },
)

export const getGatewayHistory = endpoint({
  method: 'GET',
  path: '/v1/admin/gateways/{gateway_id}/history',
  summary: 'Get the history of a gateway',
  description: 'The answer has the states and the sessions of each step, oldest first.',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  params: Closed({ gateway_id: Id('gateway') }),
  query: Closed({ range }),
  response: Closed(
    {
      gateway_id: Id('gateway'),
      gateway_name: Type.String(),
      ...window,
      changes: Type.Integer({ minimum: 0, description: 'Changes of state in the whole range' }),
      steps: Type.Array(GatewayHistoryStep),
    },
    { title: 'GatewayHistory' },
  ),
})

const GatewayHistoryRow = Closed(
  {
    gateway_id: Id('gateway'),
    gateway_name: Type.String(),
    pool_id: Id('gateway_pool'),
    pool_name: Type.String(),
    status: GatewayStatus,
    states: Type.Array(Worst, { description: 'One for each step, the oldest first' }),
  },
  { title: 'GatewayHistoryRow' },
)

export const listGatewayHistory = endpoint({
  method: 'GET',
  path: '/v1/admin/gateways/history',
  summary: 'List the history of all gateways',
  description: 'The answer has the worst state of each gateway in each step. The order is by name.',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  query: Closed({ ...pageQuery, range, pool_id: Type.Optional(Id('gateway_pool')) }),
  response: Closed({ ...window, ...List(GatewayHistoryRow).properties }),
})
