import { Type } from 'typebox'
import { InQuestion } from './connection-truth.ts'
import { endpoint } from './endpoint.ts'
import { GatewayStatus } from './gateways.ts'
import { reportedTimes } from './limits.ts'
import { Closed, Count, Id, List, NameOf, Nullable, OneOf, pageQuery, Time } from './schema.ts'

export const GatewayHealth = Closed(
  {
    gateway_id: Id('gateway'),
    name: Type.String(),
    pool_id: Id('gateway_pool'),
    pool_name: Type.String(),
    region: Type.String({ description: "Code of the pool's region" }),
    status: GatewayStatus,
    status_reason: Type.String(),
    problems: Type.Array(
      Closed({
        code: OneOf([
          ...(['closed', 'apply_error', 'policy_behind', 'clock_offset', 'unsteady', 'full'] as const),
          ...(['certificate_expiring', 'certificate_expired'] as const),
          ...(['unauthorized_connections', 'connections_in_conflict', 'unmetered'] as const),
        ]),
        detail: Type.String({ description: 'One sentence' }),
      }),
      { description: 'Problems of the gateway, without missing reports' },
    ),
    last_seen_at: Nullable(Time),
    heartbeat_age_seconds: Nullable(Count),
    up_since: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Time at which the gateway reported again after an outage; null: it was never down',
      }),
    ),
    stands_by_until: Nullable(
      Type.String({
        format: 'date-time',
        description:
          'Devices prefer other gateways until this time, because this one was down recently; null: not down recently',
      }),
    ),
    drained_at: Nullable(Time),
    version: Nullable(Type.String()),
    active_sessions: Count,
    capacity: Nullable(Type.Integer({ description: 'Share of the capacity of the pool; null: unlimited' })),
    policy: Closed({
      applied_digest: Nullable(Type.String()),
      applied_seq: Nullable(Count),
      applied_at: Nullable(Time),
      expected_seq: Count,
      behind: Type.Boolean({
        description: 'True: the gateway has not applied a policy that it received a minute ago or earlier',
      }),
    }),
    trust_version: Nullable(Count),
    clock_offset_ms: Nullable(
      Type.Integer({
        description:
          'Offset of its clock in milliseconds, positive if ahead. The transfer time of its report counts as behind',
      }),
    ),
    certificate_expires_at: Nullable(Time),
    in_question: InQuestion,
  },
  { title: 'GatewayHealth' },
)

export const gatewayHealth = endpoint({
  method: 'GET',
  path: '/v1/admin/gateway/health',
  summary: 'List the health of gateways',
  description:
    'Each has its state with a reason, heartbeat, policy in force, clock, certificate and load. The order is by name.',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  query: Closed({ ...pageQuery, pool_id: Type.Optional(Id('gateway_pool')), status: Type.Optional(GatewayStatus) }),
  response: Closed({
    ...List(GatewayHealth).properties,
    summary: Nullable(
      Closed(
        { healthy: Count, degraded: Count, draining: Count, down: Count, never_seen: Count, pending: Count },
        { title: 'GatewayHealthSummary', description: 'Counts of all gateways; only with the first page' },
      ),
    ),
  }),
})

const Outcome = OneOf(['on_it', 'moved', 'stuck', 'left'], {
  description:
    '`on_it`: connected to this gateway. `moved`: connected to another gateway of the pool. `stuck`: the gateway is silent, and no connection of the device was seen for five minutes. `left`: its session ended for another reason, and it has no other',
})
const Affected = Closed(
  {
    device_id: Id('device'),
    device_name: Nullable(Type.String()),
    user_id: Nullable(Id('user')),
    user_name: NameOf('user (its username)'),
    session_id: Id('vpn_session'),
    outcome: Outcome,
    last_seen_at: Time,
    ended_at: Nullable(Time),
    end_reason: Nullable(Type.String()),
    moved_to: Nullable(
      Closed({ gateway_id: Id('gateway'), gateway_name: NameOf('gateway'), session_id: Id('vpn_session') }),
    ),
  },
  { title: 'AffectedDevice' },
)

export const gatewayImpact = endpoint({
  method: 'GET',
  path: '/v1/admin/gateways/{gateway_id}/impact',
  summary: 'List the devices that a gateway affects',
  description:
    'These are the devices on the gateway, those that moved to another gateway, and those without a connection.',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  params: Closed({ gateway_id: Id('gateway') }),
  query: Closed({
    ...pageQuery,
    outcome: Type.Optional(Outcome),
    since: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: `Only devices that were on the gateway at this time or later (RFC 3339, at most ${reportedTimes.pastDays} days ago). Default: the time since which it is silent or draining, otherwise now`,
      }),
    ),
  }),
  errors: ['validation_error'],
  response: Closed({
    gateway_id: Id('gateway'),
    status: GatewayStatus,
    status_reason: Type.String(),
    since: Time,
    others_serving: Type.Integer({ minimum: 0, description: 'Other gateways of the pool to which devices are sent' }),
    counts: Nullable(
      Closed(
        { devices: Count, on_it: Count, moved: Count, stuck: Count, left: Count },
        { title: 'ImpactCounts', description: 'Counts of all affected devices; only with the first page' },
      ),
    ),
    ...List(Affected).properties,
  }),
})
