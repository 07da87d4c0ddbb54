import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { longestGatewayPolicySeconds, replacedSecretHours } from './limits.ts'
import {
  Bytes,
  Closed,
  Count,
  Id,
  List,
  ListQuery,
  Name,
  Nullable,
  OneOf,
  Partial,
  Prefix,
  Reason,
  Secret,
  Shown,
  Time,
  WasChanged,
  WireguardKey,
} from './schema.ts'

export const Region = Closed({
  code: Type.String({ minLength: 1, maxLength: 32 }),
  name: Type.Optional(Type.String({ maxLength: 128 })),
  lat: Type.Optional(Type.Number({ minimum: -90, maximum: 90, description: 'Latitude in degrees' })),
  lon: Type.Optional(Type.Number({ minimum: -180, maximum: 180, description: 'Longitude in degrees' })),
})
export const Protocol = OneOf(['wireguard', 'ipsec', 'openvpn'])
export const Selection = OneOf(['latency', 'geo', 'weighted'])
export const Endpoint = Closed({
  host: Type.String({ minLength: 1, maxLength: 253 }),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  proto: OneOf(['udp', 'tcp']),
})
export const GatewayStatus = OneOf(['healthy', 'degraded', 'draining', 'down', 'never_seen', 'pending'])

const poolFields = {
  name: Name,
  region: Region,
  protocol: Protocol,
  selection: Selection,
  enabled: Type.Boolean(),
  capacity: Nullable(
    Type.Integer({ minimum: 1, maximum: 10_000_000, description: 'Highest number of sessions; null: unlimited' }),
  ),
  health_threshold: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Healthy gateways below which the pool counts as degraded',
  }),
  nat: OneOf(['masquerade', 'routed'], {
    description:
      '`masquerade`: packets of devices have the address of the gateway. `routed`: they have the address of the device, and the networks behind the gateway need a route to it',
  }),
  mtu: Type.Integer({
    minimum: 1280,
    maximum: 9000,
    description: 'MTU of the tunnels in bytes. A policy may set a lower one',
  }),
  dns: Type.Array(Type.String({ maxLength: 45 }), {
    maxItems: 8,
    uniqueItems: true,
    description: 'Addresses of resolvers for devices whose policy names none',
  }),
  fail_mode: OneOf(['closed', 'open'], {
    description:
      'Behaviour of a gateway whose policy expires without renewal. `closed`: it carries nothing. `open`: it continues',
  }),
  lifetime_seconds: Type.Integer({
    minimum: 120,
    maximum: longestGatewayPolicySeconds,
    description: 'Validity of a gateway policy in seconds',
  }),
  requires_approval: Type.Boolean({
    description: 'True: a key that a gateway announces waits for an administrator',
  }),
}
export const GatewayPool = Closed(
  {
    pool_id: Id('gateway_pool'),
    tenant_id: Id('tenant'),
    ...poolFields,
    gateways: Count,
    created_at: Time,
    updated_at: Time,
  },
  { title: 'GatewayPool' },
)
const PoolBody = Closed({ ...Partial(Closed(poolFields)).properties, name: Name, region: Region })
const settings = { read: 'settings:read', write: 'settings:write' } as const
const poolParams = Closed({ pool_id: Id('gateway_pool') })
const gatewayParams = Closed({ gateway_id: Id('gateway') })

export const listGatewayPools = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/gateway-pools',
  summary: 'List gateway pools',
  access: { by: ['session', 'api_key'], permission: settings.read },
  query: ListQuery({ q: Prefix }, ['name', 'created_at'] as const, 'name'),
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
  summary: 'Get a gateway pool',
  access: { by: ['session', 'api_key'], permission: settings.read },
  params: poolParams,
  response: GatewayPool,
  etag: true,
})
export const updateGatewayPool = endpoint({
  method: 'PUT',
  path: '/v1/admin/settings/gateway-pools/{pool_id}',
  summary: 'Replace the settings of a gateway pool',
  description: 'The body of a GET may be sent back unchanged.',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'gateway_pool.updated',
  params: poolParams,
  body: Closed({ ...Shown(GatewayPool), ...poolFields }),
  response: GatewayPool,
  ifMatch: true,
})
export const deleteGatewayPool = endpoint({
  method: 'DELETE',
  path: '/v1/admin/settings/gateway-pools/{pool_id}',
  summary: 'Delete a gateway pool without gateways',
  access: { by: ['session', 'api_key'], permission: settings.write },
  audit: 'gateway_pool.deleted',
  params: poolParams,
  response: Closed({ changed: WasChanged }),
  ifMatch: true,
})

/** Load of a gateway's machine. Counters are those of its tunnel interface since it came up. */
export const SystemLoad = Closed(
  {
    cpu_percent: Type.Optional(
      Type.Number({ minimum: 0, maximum: 100, description: 'Load of all cores together, in percent' }),
    ),
    memory_used_bytes: Type.Optional(Bytes),
    memory_total_bytes: Type.Optional(Bytes),
    interface: Type.Optional(
      Closed({
        rx_bytes: Bytes,
        tx_bytes: Bytes,
        rx_packets: Type.Optional(Count),
        tx_packets: Type.Optional(Count),
        rx_dropped: Type.Optional(Count),
        tx_dropped: Type.Optional(Count),
      }),
    ),
  },
  {
    title: 'SystemLoad',
    description:
      'Load and health of the machine of a gateway. Counters are those of its tunnel interface since it came up, after decryption',
  },
)

/** Reason why a gateway does not enforce its policy: a code for programs and a sentence for people. */
export const applyErrorFields = {
  code: Type.String({ pattern: '^[a-z][a-z0-9_]*$', maxLength: 64, description: 'Code of the reason, for programs' }),
  detail: Type.String({ minLength: 1, maxLength: 512, description: 'One sentence for a person' }),
}

export const Gateway = Closed(
  {
    gateway_id: Id('gateway'),
    tenant_id: Id('tenant'),
    pool_id: Id('gateway_pool'),
    pool_name: Name,
    name: Name,
    endpoints: Type.Array(Endpoint),
    public_key: Nullable(Type.String({ description: 'Public key in force' })),
    proposed_key: Nullable(
      Type.String({ description: 'A key that the gateway announced and that waits for approval' }),
    ),
    listen_port: Nullable(Type.Integer({ description: 'UDP port on which the gateway accepts tunnels' })),
    capabilities: Type.Array(Type.String()),
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
    apply_error: Nullable(
      Closed(
        { ...applyErrorFields, at: Time },
        {
          description:
            'Reason in the last report why the gateway could not enforce its policy; null: it enforces the policy',
        },
      ),
    ),
    system: Nullable(SystemLoad),
    created_at: Time,
  },
  { title: 'Gateway' },
)
const gatewayFields = {
  name: Name,
  endpoints: Type.Array(Endpoint, { maxItems: 16 }),
  public_key: Nullable(WireguardKey),
  weight: Type.Integer({ minimum: 0, maximum: 1000 }),
}
const GatewayBody = Closed({ ...Partial(Closed(gatewayFields)).properties, name: Name })

export const listGateways = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/gateway-pools/{pool_id}/gateways',
  summary: 'List the gateways of a pool',
  access: { by: ['session', 'api_key'], permission: 'gateways:read' },
  params: poolParams,
  query: ListQuery({}, ['name', 'created_at'] as const, 'name'),
  response: List(Gateway),
})
export const createGateway = endpoint({
  method: 'POST',
  path: '/v1/admin/settings/gateway-pools/{pool_id}/gateways',
  summary: 'Register a gateway',
  description: 'Only this answer contains the service secret.',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.created',
  errors: ['entitlement_exceeded'],
  status: 201,
  params: poolParams,
  body: GatewayBody,
  response: Closed({ gateway: Gateway, secret: Secret }),
})
export const getGateway = endpoint({
  method: 'GET',
  path: '/v1/admin/gateways/{gateway_id}',
  summary: 'Get a gateway',
  access: { by: ['session', 'api_key'], permission: 'gateways:read' },
  params: gatewayParams,
  response: Gateway,
  etag: true,
})
export const updateGateway = endpoint({
  method: 'PUT',
  path: '/v1/admin/gateways/{gateway_id}',
  summary: 'Replace the settings of a gateway',
  description: 'The body of a GET may be sent back unchanged.',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.updated',
  params: gatewayParams,
  body: Closed({ ...Shown(Gateway), ...gatewayFields }),
  response: Gateway,
  ifMatch: true,
})
export const deleteGateway = endpoint({
  method: 'DELETE',
  path: '/v1/admin/gateways/{gateway_id}',
  summary: 'Delete a gateway',
  description: 'Its secret stops working, and its sessions end.',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.deleted',
  params: gatewayParams,
  response: Closed({ changed: WasChanged }),
  ifMatch: true,
})
export const rotateGatewaySecret = endpoint({
  method: 'POST',
  path: '/v1/admin/gateways/{gateway_id}/rotate-secret',
  summary: 'Rotate the secret of a gateway',
  description: `The replaced secret works until the first use of the new one, for at most ${replacedSecretHours} hours.`,
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.secret_rotated',
  params: gatewayParams,
  response: Closed({ gateway: Gateway, secret: Secret, old_secret_valid_until: Time }),
})
export const approveGateway = endpoint({
  method: 'POST',
  path: '/v1/admin/gateways/{gateway_id}/approve',
  summary: 'Approve the announced key of a gateway',
  description: '`proposed_key` shows the announced key.',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.approved',
  params: gatewayParams,
  body: Closed({ public_key: WireguardKey }),
  response: Closed({ gateway: Gateway, changed: WasChanged }),
})
export const drainGateway = endpoint({
  method: 'POST',
  path: '/v1/admin/gateways/{gateway_id}/drain',
  summary: 'Drain a gateway, or end its draining',
  description: 'The gateway directory does not offer a draining gateway for new sessions.',
  access: { by: ['session', 'api_key'], permission: 'gateways:write' },
  audit: 'gateway.drained',
  params: gatewayParams,
  body: Closed({ draining: Type.Boolean(), reason: Type.Optional(Reason) }),
  response: Closed({ gateway: Gateway, changed: WasChanged }),
  ifMatch: true,
})
