import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { applyErrorFields, Endpoint, GatewayStatus, SystemLoad } from './gateways.ts'
import { reportedTimes } from './limits.ts'
import {
  Bytes,
  Closed,
  Count,
  Duplicate,
  Id,
  Nullable,
  OneOf,
  Rejected,
  Time,
  WasChanged,
  WireguardKey,
} from './schema.ts'
import { mostResources, ResourceBytes, SessionState } from './vpn-sessions.ts'

export const gatewayPools = endpoint({
  method: 'GET',
  path: '/v1/gateway/pools',
  summary: 'List the gateways for the calling device',
  description:
    'The list is signed (gateway-directory+jws). Within a pool the best gateway is first. Each pool has the networks behind it. `Prefer: wait=N` holds the request until something changes.',
  access: { by: ['device'], permission: 'own' },
  etag: true,
  waits: true,
  response: Closed({
    directory: Type.String({ description: 'The pools as a compact JWS. Trust only its content' }),
    digest: Type.String({ description: 'Digest of the content, independent of the time of signing' }),
    seq: Count,
    ttl_seconds: Count,
  }),
})

export const unifiedPolicy = endpoint({
  method: 'GET',
  path: '/v1/gateway/runtime/unified-policy',
  summary: 'Get the policy that the gateway enforces',
  description:
    'The policy is signed (gateway-policy+jws). The answer is a snapshot, or with `since` the changes. `Prefer: wait=N` holds the request until there are changes.',
  access: { by: ['gateway'], permission: 'own' },
  waits: true,
  query: Closed({
    since: Type.Optional(Count),
    as_of: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: '`generated_at` of the policy that the gateway has (RFC 3339)',
      }),
    ),
  }),
  response: Closed({
    kind: OneOf(['snapshot', 'delta']),
    seq: Count,
    base_seq: Nullable(Count),
    policy: Type.String({ description: 'The snapshot or delta as a compact JWS' }),
    poll_seconds: Count,
  }),
})

const TunnelKey = Closed({
  key: Type.String({ title: 'PublicKey' }),
  not_after: Nullable(Time),
})
const Peer = Closed({
  addresses: Type.Array(Type.String(), { description: 'Overlay addresses of the device: IPv4, then IPv6' }),
  device_id: Id('device'),
  mfa_at: Nullable(Time),
  user_id: Nullable(Id('user')),
  valid_until: Nullable(Time),
  variant: Type.String({ description: 'Digest of the rights of the device, in `variants`' }),
  wireguard_keys: Type.Array(TunnelKey, {
    description:
      'Key in force, then the key that a renewal has replaced, until its end. The addresses belong to the older key until the first handshake with the newer one',
  }),
})
export const unifiedPolicyChunk = endpoint({
  method: 'GET',
  path: '/v1/gateway/runtime/unified-policy/chunks/{digest}',
  summary: 'Get the peers of a policy snapshot',
  description: 'A snapshot names the peers by the digest of this answer (SHA-256 of its canonical JSON).',
  access: { by: ['gateway'], permission: 'own' },
  etag: true,
  immutable: true,
  params: Closed({ digest: Type.String({ maxLength: 80, examples: ['sha256:…'] }) }),
  response: Closed({ peers: Type.Array(Peer) }),
  errors: ['not_found'],
})

export const identifyGateway = endpoint({
  method: 'POST',
  path: '/v1/gateway/runtime/identity',
  summary: 'Announce key and endpoints of a gateway',
  description: 'A gateway sends this at each start and change. Absent fields keep their values.',
  access: { by: ['gateway'], permission: 'own' },
  audit: 'gateway.identified',
  body: Closed({
    public_key: Type.Optional(WireguardKey),
    listen_port: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 65_535, description: 'UDP port on which the gateway accepts tunnels' }),
    ),
    endpoints: Type.Optional(Type.Array(Endpoint, { maxItems: 16 })),
    version: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    capabilities: Type.Optional(
      Type.Array(Type.String({ maxLength: 64, pattern: '^[a-z0-9][a-z0-9._-]*$' }), {
        maxItems: 32,
        uniqueItems: true,
      }),
    ),
  }),
  response: Closed({
    changed: WasChanged,
    approval: OneOf(['approved', 'pending'], {
      description: '`pending`: the announced key waits for an administrator. The policy shows when it is in force',
    }),
    public_key: Nullable(Type.String({ description: 'Public key in force' })),
  }),
})

const SentAt = Type.Optional(
  Type.String({
    format: 'date-time',
    maxLength: 40,
    description:
      'Time of the clock of the sender, read again for each attempt. The server measures the offset of that clock',
  }),
)

export const heartbeat = endpoint({
  method: 'POST',
  path: '/v1/gateway/runtime/heartbeat',
  summary: 'Report the heartbeat of a gateway',
  description: 'The heartbeat has the load, the number of sessions and the applied policy.',
  access: { by: ['gateway'], permission: 'own' },
  audit: 'gateway.heartbeat',
  records: 'refusals',
  body: Closed({
    boot_id: Type.String({ minLength: 1, maxLength: 64 }),
    version: Type.Optional(Type.String({ maxLength: 64 })),
    active_sessions: Count,
    rx_bps: Type.Optional(Count),
    tx_bps: Type.Optional(Count),
    system: Type.Optional(SystemLoad),
    sent_at: SentAt,
    certificate_expires_at: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: 'End of the certificate that the gateway presents to devices',
      }),
    ),
    applied: Type.Optional(
      Closed({
        policy_digest: Type.Optional(Type.String({ maxLength: 80 })),
        policy_seq: Type.Optional(Count),
        trust_version: Type.Optional(Count),
      }),
    ),
    apply_error: Type.Optional(
      Nullable(
        Closed(applyErrorFields, {
          description:
            'Reason why the gateway does not enforce the newest policy. null: it enforces it. Absent: unchanged',
        }),
      ),
    ),
  }),
  response: Closed({ status: GatewayStatus, server_time: Time, next_heartbeat_seconds: Count }),
})

/** Direction and layer of the figures. */
const trafficSides =
  '`rx`: traffic that the gateway received from the device in the interval. `tx`: traffic to the device. Both count bytes and packets of WireGuard on the wire. `denied`: packets out of the tunnel that the policy refused'

/** A gateway's report of one session, whose id the gateway made (from a UUIDv7). Bytes are those of the interval. */
const Sample = Closed(
  {
    session_id: Id('vpn_session'),
    device_id: Id('device'),
    state: SessionState,
    rx_bytes: Bytes,
    tx_bytes: Bytes,
    rx_packets: Type.Optional(Count),
    tx_packets: Type.Optional(Count),
    denied_packets: Type.Optional(Count),
    latest_handshake_at: Type.Optional(Time),
    resources: Type.Optional(
      Type.Array(ResourceBytes, {
        maxItems: mostResources,
        description: 'Traffic of the interval by resource. Other traffic is only in `rx` and `tx`',
      }),
    ),
    source_port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: 'Port from which the device connects, as the gateway sees it',
      }),
    ),
    started_at: Type.Optional(Time),
    end_reason: Type.Optional(Type.String({ maxLength: 64 })),
    source_ip: Type.Optional(Type.String({ maxLength: 64 })),
    assigned_ip: Type.Optional(Type.String({ maxLength: 64 })),
    policy_digest: Type.Optional(Type.String({ maxLength: 80 })),
  },
  { description: trafficSides },
)

export const metering = endpoint({
  method: 'POST',
  path: '/v1/gateway/metering',
  summary: 'Report traffic and sessions of a gateway',
  description: 'The report has the differences of one interval. A repeated gateway, boot and sequence changes nothing.',
  access: { by: ['gateway'], permission: 'own' },
  audit: 'gateway.metered',
  records: 'refusals',
  bodyLimit: 10 * 1024 * 1024,
  bodyNames: 200_000,
  body: Closed({
    report_id: Type.String({ minLength: 1, maxLength: 64 }),
    boot_id: Type.String({ minLength: 1, maxLength: 64 }),
    sequence: Count,
    interval_start: Time,
    interval_end: Time,
    sent_at: SentAt,
    samples: Type.Array(Sample, { maxItems: 10_000 }),
    load: Type.Optional(Closed({ active_sessions: Count, rx_bps: Type.Optional(Count), tx_bps: Type.Optional(Count) })),
  }),
  response: Closed({
    accepted: Count,
    duplicate: Duplicate,
    rejected: Rejected,
    unknown_resources: Type.Array(Type.String(), {
      description: 'Names in `resources` that the policy of the tenant lacks. Their bytes are only in `rx` and `tx`',
    }),
    ended_sessions: Type.Optional(
      Type.Array(
        Closed({
          session_id: Id('vpn_session'),
          reason: OneOf(['blocked', 'entitlement_exceeded']),
          detail: Type.String(),
        }),
        {
          description:
            'Sessions of this report that the gateway must end, because they are not allowed. The policy lists them too. Absent: none',
        },
      ),
    ),
  }),
})

const TelemetryEvent = Closed(
  {
    event_id: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Unique id that the device creates. A repetition changes nothing',
    }),
    session_id: Type.Optional(Id('vpn_session')),
    kind: OneOf(['connected', 'disconnected', 'failed', 'quality', 'policy_applied']),
    at: Time,
    gateway_id: Type.Optional(Id('gateway')),
    latency_ms: Type.Optional(
      Type.Number({ minimum: 0, maximum: 600_000, description: 'Round-trip time to the gateway in milliseconds' }),
    ),
    loss_percent: Type.Optional(Type.Number({ minimum: 0, maximum: 100, description: 'Lost packets in percent' })),
    reason: Type.Optional(Type.String({ maxLength: 256 })),
    policy_digest: Type.Optional(
      Type.String({ maxLength: 80, description: 'Digest of the policy; required for `policy_applied`' }),
    ),
  },
  {
    title: 'TelemetryEvent',
    description: `An event is at most ${reportedTimes.pastDays} days old and ${reportedTimes.aheadMinutes} minutes ahead. \`session_id\` is a session of the device that its gateway has reported. An event with an unknown session is rejected, and may be sent again`,
  },
)

export const telemetry = endpoint({
  method: 'POST',
  path: '/v1/telemetry/session',
  summary: 'Report connection events of the device',
  description: 'A repeated `event_id` changes nothing.',
  access: { by: ['device'], permission: 'own' },
  audit: 'telemetry.ingested',
  records: 'refusals',
  bodyLimit: 10 * 1024 * 1024,
  bodyNames: 200_000,
  body: Closed({ sent_at: SentAt, events: Type.Array(TelemetryEvent, { minItems: 1, maxItems: 1000 }) }),
  response: Closed({
    accepted: Count,
    duplicate: Duplicate,
    rejected: Rejected,
    ended_sessions: Type.Optional(
      Type.Array(Closed({ session_id: Id('vpn_session'), reason: Type.String() }), {
        description:
          'Sessions of these events that the control plane has ended, with the reason. `entitlement_exceeded`: the limit of the plan is reached. Absent: none',
      }),
    ),
  }),
})
