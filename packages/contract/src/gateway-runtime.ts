import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { applyErrorFields, Endpoint, GatewayStatus, SystemLoad } from './gateways.ts'
import { reportedTimes } from './limits.ts'
import { Bytes, Closed, Count, Duplicate, Id, Nullable, OneOf, Rejected, Time, WireguardKey } from './schema.ts'
import { mostResources, ResourceBytes, SessionState } from './vpn-sessions.ts'

export const gatewayPools = endpoint({
  method: 'GET',
  path: '/v1/gateway/pools',
  summary:
    'The gateways that the calling device may use, signed (gateway-directory+jws): best first within each pool, with the networks behind them; Prefer: wait=N holds the request until something changes',
  access: { by: ['device'], permission: 'own' },
  etag: true,
  waits: true,
  response: Closed({
    directory: Type.String({ description: 'Compact JWS over the pools; trust only its content' }),
    digest: Type.String({ description: 'Digest of the content, independent of the time of signing' }),
    seq: Count,
    ttl_seconds: Count,
  }),
})

export const unifiedPolicy = endpoint({
  method: 'GET',
  path: '/v1/gateway/runtime/unified-policy',
  summary:
    'The policy that the gateway must enforce, signed (gateway-policy+jws): a snapshot, or with `since` the changes; Prefer: wait=N holds the request until there are changes',
  access: { by: ['gateway'], permission: 'own' },
  waits: true,
  query: Closed({
    since: Type.Optional(Count),
    as_of: Type.Optional(
      Type.String({
        format: 'date-time',
        maxLength: 40,
        description: '`generated_at` of the policy that the gateway has',
      }),
    ),
  }),
  response: Closed({
    kind: OneOf(['snapshot', 'delta']),
    seq: Count,
    base_seq: Nullable(Count),
    policy: Type.String({ description: 'Compact JWS over the snapshot or delta' }),
    poll_seconds: Count,
  }),
})

const TunnelKey = Closed({
  key: Type.String({ title: 'PublicKey' }),
  not_after: Nullable(Time),
})
const Peer = Closed({
  addresses: Type.Array(Type.String(), { description: 'Overlay addresses: IPv4, IPv6' }),
  device_id: Id('device'),
  mfa_at: Nullable(Time),
  user_id: Nullable(Id('user')),
  valid_until: Nullable(Time),
  variant: Type.String({ description: 'Digest of its rights, in `variants`' }),
  wireguard_keys: Type.Array(TunnelKey, {
    description:
      'The key in force, then the one that a renewal has replaced, until its end. The addresses stay with the older one until the first handshake with the newer',
  }),
})
export const unifiedPolicyChunk = endpoint({
  method: 'GET',
  path: '/v1/gateway/runtime/unified-policy/chunks/{digest}',
  summary: 'Peers that a snapshot names by the digest of this answer (SHA-256 of its canonical JSON)',
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
  summary:
    'A gateway announces its key, endpoint and capabilities, at each start and change; fields that are not given stay',
  access: { by: ['gateway'], permission: 'own' },
  audit: 'gateway.identified',
  body: Closed({
    public_key: Type.Optional(WireguardKey),
    listen_port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
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
    changed: Type.Boolean(),
    approval: OneOf(['approved', 'pending'], {
      description: 'pending: the key announced waits for an administrator; the policy says when it is in force',
    }),
    public_key: Nullable(Type.String({ description: 'The key in force' })),
  }),
})

const SentAt = Type.Optional(
  Type.String({
    format: 'date-time',
    maxLength: 40,
    description:
      "Time of the sender's clock, read again for each attempt; the server measures the offset of the clock with it",
  }),
)

export const heartbeat = endpoint({
  method: 'POST',
  path: '/v1/gateway/runtime/heartbeat',
  summary: 'Heartbeat of a gateway: its load, its sessions and its applied policy',
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
        description: 'When the certificate ends that it shows devices',
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
          description: 'Reason why the newest policy is not enforced; null: it is enforced. Absent: unchanged',
        }),
      ),
    ),
  }),
  response: Closed({ status: GatewayStatus, server_time: Time, next_heartbeat_seconds: Count }),
})

/** Direction and layer of the figures. */
const trafficSides =
  'rx: received by the gateway from the device, tx: sent to it; bytes and packets of WireGuard on the wire, of the interval. denied: of what came out of the tunnel, packets that the policy refused'

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
        description: 'Traffic of the interval by resource; other traffic is only in rx and tx',
      }),
    ),
    source_port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
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
  summary: 'Traffic and sessions of an interval, as deltas; the same (gateway, boot, sequence) again changes nothing',
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
      description: "Names in `resources` that the tenant's policy does not have: their bytes are in rx and tx only",
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
            'Sessions of this report that are not allowed: end them. The policy lists them too. Absent: none',
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
      description: 'Created by the device, unique for each event: a repetition changes nothing',
    }),
    session_id: Type.Optional(Id('vpn_session')),
    kind: OneOf(['connected', 'disconnected', 'failed', 'quality', 'policy_applied']),
    at: Time,
    gateway_id: Type.Optional(Id('gateway')),
    latency_ms: Type.Optional(Type.Number({ minimum: 0, maximum: 600_000 })),
    loss_percent: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
    reason: Type.Optional(Type.String({ maxLength: 256 })),
    policy_digest: Type.Optional(Type.String({ maxLength: 80, description: 'Needed by `policy_applied`' })),
  },
  {
    title: 'TelemetryEvent',
    description: `At most ${reportedTimes.pastDays} days old and ${reportedTimes.aheadMinutes} minutes ahead. \`session_id\` is a session of the device itself that its gateway has reported: an unknown one is rejected and may be sent again`,
  },
)

export const telemetry = endpoint({
  method: 'POST',
  path: '/v1/telemetry/session',
  summary: 'Events of the device about its own connections; a repeated event_id changes nothing',
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
          'Of the sessions that the events name, those that the control plane has ended: entitlement_exceeded (the plan has no room), suspended, revoked, blocked or admin. Absent: none',
      }),
    ),
  }),
})
