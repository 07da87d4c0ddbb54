import { type Static, Type } from 'typebox'
import { PostureVerdict } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Id, List, NameOf, Nullable, OneOf, pageQuery, Time } from './schema.ts'
import { SessionState } from './vpn-sessions.ts'

/** Results of the comparison of reports about a connection, from the best to the worst. */
export const connectionVerdicts = ['consistent', 'stale', 'conflict', 'unauthorized'] as const
export type ConnectionVerdict = (typeof connectionVerdicts)[number]

const Verdict = OneOf(connectionVerdicts, {
  description:
    '`consistent`: all reports agree. `stale`: a report is old or missing. `conflict`: two reports differ. `unauthorized`: the gateway has a connection that is not allowed',
})
export const InQuestion = Closed(
  { stale: Count, conflict: Count, unauthorized: Count },
  {
    title: 'ConnectionsInQuestion',
    description: 'Number of connections with each verdict at the last check; only with the first page of a list',
  },
)
const Age = Type.Integer({ minimum: 0, description: 'Age of this report in seconds' })
const Digest = Nullable(Type.String({ description: 'Digest of the policy variant' }))

const ControlPlane = Closed(
  {
    at: Time,
    age_seconds: Age,
    device_status: OneOf(['pending', 'active', 'suspended', 'revoked', 'unknown'], {
      description: '`suspended`: the device or its user is suspended. `unknown`: the device does not exist any more',
    }),
    credential_expires_at: Nullable(Time),
    certificate_expires_at: Nullable(Type.String({ description: 'End of its newest SPC in use' })),
    posture_verdict: Nullable(PostureVerdict),
    policy_digest: Digest,
    session_state: Nullable(SessionState),
    end_reason: Nullable(Type.String()),
  },
  {
    title: 'ControlPlaneWitness',
    description: 'Credential, certificate, policy and session that this control plane has now',
  },
)
const Gateway = Closed(
  {
    at: Time,
    age_seconds: Age,
    state: Nullable(SessionState),
    policy_digest: Digest,
    assigned_ip: Nullable(Type.String()),
    source_ip: Nullable(Type.String()),
    defied_since: Nullable(Time),
  },
  { title: 'GatewayWitness', description: 'The session in the metering reports of the gateway' },
)
const Device = Closed(
  {
    at: Time,
    age_seconds: Age,
    state: OneOf(['connected', 'disconnected']),
    since: Time,
    session_id: Nullable(Id('vpn_session')),
    policy_digest: Digest,
    latency_ms: Nullable(Type.Number({ description: 'Round-trip time to the gateway in milliseconds' })),
    reason: Nullable(Type.String()),
  },
  { title: 'DeviceWitness', description: 'The connection to this gateway in the telemetry of the device' },
)
const Policy = Closed(
  {
    at: Time,
    age_seconds: Age,
    allowed: Type.Boolean(),
    reason: Type.String({
      description:
        'Code of the reason, for programs. About the device: `revoked`, `suspended`, `pending`, `credential_expired`, `no_rule`. About the gateway: `no_gateway`, `gateway_locked`, `gateway_pending`, `pool_disabled`',
    }),
    allowed_until: Nullable(Time),
  },
  { title: 'PolicyWitness', description: 'Decision whether the device may connect to the pool of the gateway now' },
)

export const Connection = Closed(
  {
    device_id: Id('device'),
    device_name: Nullable(Type.String()),
    user_id: Nullable(Id('user')),
    user_name: NameOf('user (its username)'),
    gateway_id: Nullable(Id('gateway')),
    gateway_name: NameOf('gateway'),
    pool_id: Nullable(Id('gateway_pool')),
    pool_name: NameOf('pool'),
    session_id: Nullable(Id('vpn_session')),
    verdict: Verdict,
    since: Nullable(
      Type.String({
        format: 'date-time',
        description: 'Time of the first verdict other than consistent; null: consistent',
      }),
    ),
    disagreements: Type.Array(
      Closed({
        field: OneOf(['state', 'session_id', 'authorization', 'certificate', 'policy_digest', 'silence']),
        control_plane: Nullable(Type.String()),
        gateway: Nullable(Type.String()),
        device: Nullable(Type.String()),
        policy: Nullable(Type.String()),
      }),
      { description: 'Fields in which the reports differ, with the value of each report; null: not reported' },
    ),
    control_plane: ControlPlane,
    gateway: Nullable(Gateway),
    device: Nullable(Device),
    policy: Policy,
  },
  { title: 'Connection' },
)
export type Connection = Static<typeof Connection>

export const connectionTruth = endpoint({
  method: 'GET',
  path: '/v1/admin/connection_truth',
  summary: 'List connections and compare their reports',
  description:
    'Four reports on each connection are compared. By default the list has the active sessions, newest first. With a `verdict` other than `consistent` it has the connections with that verdict, longest first, also those without a session.',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  query: Closed({
    ...pageQuery,
    device_id: Type.Optional(Id('device')),
    user_id: Type.Optional(Id('user')),
    gateway_id: Type.Optional(Id('gateway')),
    verdict: Type.Optional(Verdict),
  }),
  response: Closed({
    ...List(Connection).properties,
    in_question: Nullable(InQuestion),
  }),
})
