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
      { description: 'Problems other than missing reports' },
    ),
    last_seen_at: Nullable(Time),
    heartbeat_age_seconds: Nullable(Count),
    up_since: Nullable(
      Type.String({ format: 'date-time', description: 'Time at which it reported again; null: it was never down' }),
    ),
    stands_by_until: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Devices prefer other gateways until this time, since it was down recently; null: they do not',
      }),
    ),
    drained_at: Nullable(Time),
    version: Nullable(Type.String()),
    active_sessions: Count,
    capacity: Nullable(Type.Integer({ description: "Its share of the pool's capacity; null: unlimited" })),
    policy: Closed({
      applied_digest: Nullable(Type.String()),
      applied_seq: Nullable(Count),
      applied_at: Nullable(Time),
      expected_seq: Count,
      behind: Type.Boolean({ description: 'It has not applied a policy that it received a minute ago or earlier' }),
    }),
    trust_version: Nullable(Count),
    clock_offset_ms: Nullable(
      Type.Integer({
        description: 'Offset of its clock, positive if ahead; the transfer time of its report counts as behind',
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
  summary: 'Health of the gateways, by name: state and reason, heartbeat, policy in force, clock, certificate, load',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  query: Closed({ ...pageQuery, pool_id: Type.Optional(Id('gateway_pool')), status: Type.Optional(GatewayStatus) }),
  response: Closed({
    ...List(GatewayHealth).properties,
    summary: Nullable(
      Closed(
        { healthy: Count, degraded: Count, draining: Count, down: Count, never_seen: Count, pending: Count },
        { title: 'GatewayHealthSummary', description: 'Of all gateways; with the first page only' },
      ),
    ),
  }),
})

const Outcome = OneOf(['on_it', 'moved', 'stuck', 'left'], {
  description:
    'on_it: connected to it; moved: connected to another gateway of the pool; stuck: the gateway is silent, the device has not reported a connection for five minutes, and it is not seen elsewhere; left: its session ended for another reason than the silence, and it has no other',
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
  summary:
    'Devices that a gateway affects: those on it, those that moved to another one, and those without a connection',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  params: Closed({ gateway_id: Id('gateway') }),
  query: Closed({
    ...pageQuery,
    outcome: Type.Optional(Outcome),
    since: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: `Devices that were on it at this time (at most ${reportedTimes.pastDays} days ago) or later; default: the time since which it is silent or draining, otherwise now`,
      }),
    ),
  }),
  response: Closed({
    gateway_id: Id('gateway'),
    status: GatewayStatus,
    status_reason: Type.String(),
    since: Time,
    others_serving: Type.Integer({ minimum: 0, description: 'Other gateways of its pool that devices are sent to' }),
    counts: Nullable(
      Closed(
        { devices: Count, on_it: Count, moved: Count, stuck: Count, left: Count },
        { title: 'ImpactCounts', description: 'Over all affected devices; only with the first page' },
      ),
    ),
    ...List(Affected).properties,
  }),
})
