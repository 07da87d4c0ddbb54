import { Type } from 'typebox'
import { PostureVerdict } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { Protocol } from './gateways.ts'
import { NAME } from './policy-document.ts'
import { Bytes, Closed, Count, Id, Ids, List, ListQuery, NameOf, Nullable, OneOf, Reason, Time } from './schema.ts'

/** An hour. A longer block belongs to the state of the device, not to a session. */
export const mostBlockSeconds = 3600

/** Most resources of one session. Traffic to further ones is part of the session's own bytes. */
export const mostResources = 64

export const ResourceBytes = Closed(
  {
    resource: Type.String({
      pattern: NAME,
      maxLength: 64,
      description: 'A key of `resources` or `hosts` of the policy',
    }),
    rx_bytes: Bytes,
    tx_bytes: Bytes,
  },
  {
    title: 'ResourceBytes',
    description:
      '`rx`: bytes from the device to the resource. `tx`: bytes to the device. Both count IP packets in the tunnel',
  },
)

export const SessionState = OneOf(['active', 'ended'])

const sessionFields = {
  session_id: Id('vpn_session'),
  device_id: Id('device'),
  device_name: Nullable(Type.String()),
  user_id: Nullable(Id('user')),
  user_name: NameOf('user (its username)'),
  gateway_id: Id('gateway'),
  gateway_name: NameOf('gateway'),
  pool_id: Id('gateway_pool'),
  pool_name: NameOf('pool'),
  state: SessionState,
  started_at: Time,
  last_seen_at: Time,
  ended_at: Nullable(Time),
  end_reason: Nullable(Type.String()),
  block_until: Nullable(Time),
  source_ip: Nullable(Type.String()),
  assigned_ip: Nullable(Type.String()),
  protocol: Protocol,
  client_version: Nullable(Type.String()),
  auth_method: Type.String(),
  policy_digest: Nullable(
    Type.String({ description: 'Digest of the policy that its gateway reports as enforced; null: not reported' }),
  ),
  assigned_digest: Nullable(Type.String({ description: 'Digest of the policy of the device when the session began' })),
  posture_verdict: PostureVerdict,
  rx_bytes: Bytes,
  tx_bytes: Bytes,
  rx_packets: Count,
  tx_packets: Count,
  denied_packets: Count,
  latest_handshake_at: Nullable(Time),
  source_port: Nullable(Type.Integer({ description: 'Port from which the device connects, as the gateway sees it' })),
}
const sides =
  '`rx`: traffic that the gateway received from the device. `tx`: traffic to the device. Both count bytes and packets of WireGuard on the wire. `denied`: packets out of the tunnel that the policy refused'

export const VpnSession = Closed(sessionFields, { title: 'VpnSession', description: sides })
const VpnSessionDetail = Closed(
  {
    ...sessionFields,
    resources: Type.Array(ResourceBytes, {
      description: `Traffic by resource, as the gateway reports it: the first ${mostResources} named resources, most bytes first`,
    }),
  },
  { title: 'VpnSessionDetail', description: sides },
)
const sessionFilters = {
  device_id: Type.Optional(Id('device')),
  user_id: Type.Optional(Id('user')),
  gateway_id: Type.Optional(Id('gateway')),
  pool_id: Type.Optional(Id('gateway_pool')),
}

export const listSessions = endpoint({
  method: 'GET',
  path: '/v1/admin/sessions',
  summary: 'List VPN sessions',
  access: { by: ['session', 'api_key'], permission: 'sessions:read' },
  query: ListQuery(
    { ...sessionFilters, state: Type.Optional(OneOf(['active', 'ended', 'all'])) },
    ['started_at'] as const,
    '-started_at',
  ),
  response: List(VpnSession),
})
export const getSession = endpoint({
  method: 'GET',
  path: '/v1/admin/sessions/{session_id}',
  summary: 'Get a VPN session',
  access: { by: ['session', 'api_key'], permission: 'sessions:read' },
  params: Closed({ session_id: Id('vpn_session') }),
  response: VpnSessionDetail,
})
export const terminateSessions = endpoint({
  method: 'POST',
  path: '/v1/admin/sessions',
  summary: 'Terminate VPN sessions',
  description:
    'The gateways get it with the next delta. After some time they accept the devices in the same pool again.',
  access: { by: ['session', 'api_key'], permission: 'sessions:terminate' },
  audit: 'vpn_session.terminated',
  body: Closed({
    operation: OneOf(['terminate']),
    session_ids: Type.Optional(Ids('vpn_session', 10_000)),
    filter: Type.Optional(Closed(sessionFilters)),
    reason: Type.Optional(Reason),
    block_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: mostBlockSeconds,
        description:
          'Seconds for which the gateways of the pool refuse the device. Default: 300; 0 only ends the session. To block a device for longer, suspend it',
      }),
    ),
  }),
  response: Closed({ matched: Count, terminated: Count, block_until: Nullable(Time) }),
})
