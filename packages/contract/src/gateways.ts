import { Type } from 'typebox'
import { PostureVerdict } from './devices.ts'
import { endpoint } from './endpoint.ts'
import {
  Bytes,
  Closed,
  Count,
  Id,
  Ids,
  List,
  ListQuery,
  Name,
  Nullable,
  OneOf,
  Partial,
  Reason,
  Time,
} from './schema.ts'

const Region = Closed({
  code: Type.String({ minLength: 1, maxLength: 32 }),
  name: Type.Optional(Type.String({ maxLength: 128 })),
  lat: Type.Optional(Type.Number({ minimum: -90, maximum: 90 })),
  lon: Type.Optional(Type.Number({ minimum: -180, maximum: 180 })),
})
const Protocol = OneOf(['wireguard', 'ipsec', 'openvpn'])
const Selection = OneOf(['latency', 'geo', 'weighted'])
const Endpoint = Closed({
  host: Type.String({ minLength: 1, maxLength: 253 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  proto: OneOf(['udp', 'tcp']),
})
const Cidrs = Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })
const GatewayStatus = OneOf(['healthy', 'degraded', 'draining', 'down', 'never_seen'])

const poolFields = {
  name: Name,
  region: Region,
  protocol: Protocol,
  selection: Selection,
  enabled: Type.Boolean(),
  capacity: Nullable(Type.Integer({ minimum: 1, maximum: 10_000_000, description: 'Sessions; null is unlimited' })),
  address_cidrs: Cidrs,
  health_threshold: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Healthy gateways below which the pool counts as degraded',
  }),
}
export const GatewayPool = Closed({
  pool_id: Id('gateway_pool'),
  tenant_id: Id('tenant'),
  ...poolFields,
  gateways: Count,
  created_at: Time,
  updated_at: Time,
})
const PoolBody = Closed({
  name: Name,
  region: Region,
  protocol: Type.Optional(Protocol),
  selection: Type.Optional(Selection),
  enabled: Type.Optional(Type.Boolean()),
  capacity: Type.Optional(poolFields.capacity),
  address_cidrs: Type.Optional(Cidrs),
  health_threshold: Type.Optional(poolFields.health_threshold),
})
const settings = { read: 'settings:read', write: 'settings:write' } as const
const poolParams = Closed({ pool_id: Id('gateway_pool') })
const gatewayParams = Closed({ gateway_id: Id('gateway') })

export const listGatewayPools = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/gateway-pools',
  summary: 'List gateway pools',
  access: { by: ['session', 'api_key'], permission: settings.read },
  query: ListQuery({}, ['name', 'created_at'] as const),
  response: List(GatewayPool),
})
export const createGatewayPool = endpoint({
  method: 'POST',
  path: '/v1/admin/settings/gateway-pools',
  summary: 'Create a gateway pool',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'gateway_pool.created',
  status: 201,
  body: PoolBody,
  response: GatewayPool,
})
export const getGatewayPool = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/gateway-pools/{pool_id}',
  summary: 'One gateway pool',
  access: { by: ['session', 'api_key'], permission: settings.read },
  params: poolParams,
  response: GatewayPool,
})
export const updateGatewayPool = endpoint({
  method: 'PUT',
  path: '/v1/admin/settings/gateway-pools/{pool_id}',
  summary: 'Change a gateway pool; absent fields stay',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'gateway_pool.updated',
  params: poolParams,
  body: Partial(PoolBody),
  response: GatewayPool,
})
export const deleteGatewayPool = endpoint({
  method: 'DELETE',
  path: '/v1/admin/settings/gateway-pools/{pool_id}',
  summary: 'Delete a gateway pool that has no gateways',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'gateway_pool.deleted',
  params: poolParams,
  response: Closed({ changed: Type.Boolean() }),
})

export const Gateway = Closed({
  gateway_id: Id('gateway'),
  tenant_id: Id('tenant'),
  pool_id: Id('gateway_pool'),
  name: Name,
  endpoints: Type.Array(Endpoint),
  public_key: Nullable(Type.String()),
  weight: Type.Integer(),
  status: GatewayStatus,
  status_reason: Type.String(),
  version: Nullable(Type.String()),
  active_sessions: Count,
  rx_bps: Count,
  tx_bps: Count,
  last_seen_at: Nullable(Time),
  applied: Closed({
    policy_digest: Nullable(Type.String()),
    policy_seq: Nullable(Count),
    trust_version: Nullable(Count),
    at: Nullable(Time),
  }),
  created_at: Time,
})
const GatewayBody = Closed({
  name: Name,
  endpoints: Type.Optional(Type.Array(Endpoint, { maxItems: 16 })),
  public_key: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 128 }))),
  weight: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })),
})
const Secret = Type.String({ description: 'The gateway service secret, shown once' })

export const listGateways = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/gateway-pools/{pool_id}/gateways',
  summary: 'List the gateways of a pool',
  access: { by: ['session', 'api_key'], permission: 'gateways:read' },
  params: poolParams,
  query: ListQuery({}, ['name', 'created_at'] as const),
  response: List(Gateway),
})
export const createGateway = endpoint({
  method: 'POST',
  path: '/v1/admin/settings/gateway-pools/{pool_id}/gateways',
  summary: 'Register a gateway; its service secret appears only in this answer',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.created',
  status: 201,
  params: poolParams,
  body: GatewayBody,
  response: Closed({ gateway: Gateway, secret: Secret }),
})
export const getGateway = endpoint({
  method: 'GET',
  path: '/v1/admin/gateways/{gateway_id}',
  summary: 'One gateway',
  access: { by: ['session', 'api_key'], permission: 'gateways:read' },
  params: gatewayParams,
  response: Gateway,
})
export const updateGateway = endpoint({
  method: 'PUT',
  path: '/v1/admin/gateways/{gateway_id}',
  summary: 'Change a gateway; absent fields stay',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.updated',
  params: gatewayParams,
  body: Partial(GatewayBody),
  response: Gateway,
})
export const deleteGateway = endpoint({
  method: 'DELETE',
  path: '/v1/admin/gateways/{gateway_id}',
  summary: 'Delete a gateway; its secret stops working and its sessions end',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.deleted',
  params: gatewayParams,
  response: Closed({ changed: Type.Boolean() }),
})
export const rotateGatewaySecret = endpoint({
  method: 'POST',
  path: '/v1/admin/gateways/{gateway_id}/rotate-secret',
  summary: 'Give a gateway a new secret; the old one works until the first use of the new one, at most 4 hours',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.secret_rotated',
  params: gatewayParams,
  response: Closed({ gateway_id: Id('gateway'), secret: Secret, old_secret_valid_until: Time }),
})
export const drainGateway = endpoint({
  method: 'POST',
  path: '/v1/admin/gateways/{gateway_id}/drain',
  summary: 'Take a gateway out of the directory for new sessions, or put it back',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.drained',
  params: gatewayParams,
  body: Closed({ draining: Type.Boolean(), reason: Type.Optional(Reason) }),
  response: Closed({ gateway: Gateway, changed: Type.Boolean() }),
})

export const gatewayPools = endpoint({
  method: 'GET',
  path: '/v1/gateway/pools',
  summary: 'The gateways that the calling device may use, best first within each pool',
  access: { by: ['device'], permission: 'own' },
  response: Closed({
    pools: Type.Array(
      Closed({
        pool_id: Id('gateway_pool'),
        name: Name,
        region: Region,
        protocol: Protocol,
        selection: Selection,
        gateways: Type.Array(
          Closed({
            gateway_id: Id('gateway'),
            name: Name,
            endpoints: Type.Array(Endpoint),
            public_key: Nullable(Type.String()),
            weight: Type.Integer(),
            status: GatewayStatus,
          }),
        ),
      }),
    ),
    digest: Type.String(),
    ttl_seconds: Count,
  }),
})

export const unifiedPolicy = endpoint({
  method: 'GET',
  path: '/v1/gateway/runtime/unified-policy',
  summary:
    'What the gateway must enforce, signed (gateway-policy+jws): a snapshot, or with `since` what changed; Prefer: wait=N holds it until something does',
  access: { by: ['gateway'], permission: 'own' },
  query: Closed({ since: Type.Optional(Count) }),
  response: Closed({
    kind: OneOf(['snapshot', 'delta']),
    seq: Count,
    base_seq: Nullable(Count),
    policy: Type.String({ description: 'Compact JWS over the snapshot or delta' }),
    poll_seconds: Count,
  }),
})

export const heartbeat = endpoint({
  method: 'POST',
  path: '/v1/gateway/runtime/heartbeat',
  summary: 'A gateway says that it lives, what it carries and what it has applied',
  access: { by: ['gateway'], permission: 'own' },
  audit: 'gateway.heartbeat',
  records: 'refusals',
  body: Closed({
    boot_id: Type.String({ minLength: 1, maxLength: 64 }),
    version: Type.Optional(Type.String({ maxLength: 64 })),
    active_sessions: Count,
    rx_bps: Type.Optional(Count),
    tx_bps: Type.Optional(Count),
    applied: Type.Optional(
      Closed({
        policy_digest: Type.Optional(Type.String({ maxLength: 80 })),
        policy_seq: Type.Optional(Count),
        trust_version: Type.Optional(Count),
      }),
    ),
  }),
  response: Closed({ status: GatewayStatus, server_time: Time, next_heartbeat_seconds: Count }),
})

const SessionState = OneOf(['active', 'ended'])
export const meteringStates = ['active', 'ended'] as const
const Sample = Closed({
  session_id: Type.String({ minLength: 1, maxLength: 64, description: 'TypeID vse_… minted by the gateway (UUIDv7)' }),
  device_id: Id('device'),
  state: SessionState,
  rx_bytes: Bytes,
  tx_bytes: Bytes,
  started_at: Type.Optional(Time),
  end_reason: Type.Optional(Type.String({ maxLength: 64 })),
  source_ip: Type.Optional(Type.String({ maxLength: 64 })),
  assigned_ip: Type.Optional(Type.String({ maxLength: 64 })),
  policy_digest: Type.Optional(Type.String({ maxLength: 80 })),
})

export const metering = endpoint({
  method: 'POST',
  path: '/v1/gateway/metering',
  summary: 'Traffic and sessions of an interval, as deltas; the same (gateway, boot, sequence) again changes nothing',
  access: { by: ['gateway'], permission: 'own' },
  audit: 'gateway.metered',
  records: 'refusals',
  bodyLimit: 10 * 1024 * 1024,
  body: Closed({
    report_id: Type.String({ minLength: 1, maxLength: 64 }),
    boot_id: Type.String({ minLength: 1, maxLength: 64 }),
    sequence: Count,
    interval_start: Time,
    interval_end: Time,
    samples: Type.Array(Sample, { maxItems: 10_000 }),
    load: Type.Optional(Closed({ active_sessions: Count, rx_bps: Type.Optional(Count), tx_bps: Type.Optional(Count) })),
  }),
  response: Closed({
    accepted: Count,
    duplicate: Type.Boolean(),
    rejected: Type.Array(Closed({ index: Count, error: Type.String() })),
  }),
})

export const telemetry = endpoint({
  method: 'POST',
  path: '/v1/telemetry/session',
  summary: 'What the device saw of its own connections; the same event_id again changes nothing',
  access: { by: ['device'], permission: 'own' },
  audit: 'telemetry.ingested',
  records: 'refusals',
  bodyLimit: 10 * 1024 * 1024,
  body: Closed({
    events: Type.Array(
      Closed({
        event_id: Type.String({ minLength: 1, maxLength: 64 }),
        session_id: Type.Optional(Type.String({ maxLength: 64 })),
        kind: OneOf(['connected', 'disconnected', 'failed', 'quality', 'policy_applied']),
        at: Time,
        gateway_id: Type.Optional(Id('gateway')),
        latency_ms: Type.Optional(Type.Number({ minimum: 0, maximum: 600_000 })),
        loss_percent: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
        reason: Type.Optional(Type.String({ maxLength: 256 })),
        policy_digest: Type.Optional(Type.String({ maxLength: 80 })),
      }),
      { minItems: 1, maxItems: 1000 },
    ),
  }),
  response: Closed({
    accepted: Count,
    duplicate: Count,
    rejected: Type.Array(Closed({ index: Count, error: Type.String() })),
  }),
})

export const VpnSession = Closed({
  session_id: Id('vpn_session'),
  device_id: Id('device'),
  device_name: Nullable(Type.String()),
  user_id: Nullable(Id('user')),
  gateway_id: Id('gateway'),
  pool_id: Id('gateway_pool'),
  state: SessionState,
  started_at: Time,
  last_seen_at: Time,
  ended_at: Nullable(Time),
  end_reason: Nullable(Type.String()),
  source_ip: Nullable(Type.String()),
  assigned_ip: Nullable(Type.String()),
  protocol: Protocol,
  client_version: Nullable(Type.String()),
  auth_method: Type.String(),
  policy_digest: Nullable(Type.String()),
  posture_verdict: PostureVerdict,
  rx_bytes: Bytes,
  tx_bytes: Bytes,
})
const sessionFilters = {
  device_id: Type.Optional(Id('device')),
  user_id: Type.Optional(Id('user')),
  gateway_id: Type.Optional(Id('gateway')),
  pool_id: Type.Optional(Id('gateway_pool')),
}

export const listSessions = endpoint({
  method: 'GET',
  path: '/v1/admin/sessions',
  summary: 'List VPN sessions, active ones unless said',
  access: { by: ['session', 'api_key'], permission: 'sessions:read' },
  query: ListQuery({ ...sessionFilters, state: Type.Optional(OneOf(['active', 'ended', 'all'])) }, [
    'started_at',
  ] as const),
  response: List(VpnSession),
})
export const getSession = endpoint({
  method: 'GET',
  path: '/v1/admin/sessions/{session_id}',
  summary: 'One VPN session',
  access: { by: ['session', 'api_key'], permission: 'sessions:read' },
  params: Closed({ session_id: Id('vpn_session') }),
  response: VpnSession,
})
export const terminateSessions = endpoint({
  method: 'POST',
  path: '/v1/admin/sessions',
  summary: 'Terminate VPN sessions; their gateways learn it in the next delta',
  access: { by: ['session', 'api_key'], permission: 'sessions:terminate' },
  audit: 'vpn_session.terminated',
  body: Closed({
    operation: OneOf(['terminate']),
    session_ids: Type.Optional(Ids('vpn_session', 10_000)),
    filter: Type.Optional(Closed(sessionFilters)),
    reason: Type.Optional(Reason),
  }),
  response: Closed({ matched: Count, terminated: Count }),
})
