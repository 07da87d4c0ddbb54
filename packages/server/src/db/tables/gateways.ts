import type { Generated } from 'kysely'
import type { TenantId } from '../../kernel/actor.ts'
import type { Default, Derived, Json, TextArray } from './columns.ts'
import type { PostureVerdict } from './devices.ts'

/** Load of a gateway's machine. */
export type SystemLoad = {
  cpu_percent?: number
  memory_used_bytes?: number
  memory_total_bytes?: number
  interface?: {
    rx_bytes: number
    tx_bytes: number
    rx_packets?: number
    tx_packets?: number
    rx_dropped?: number
    tx_dropped?: number
  }
}
export type GatewayState = 'healthy' | 'degraded' | 'draining' | 'down' | 'never_seen' | 'pending'
/** Bytes received from the device and sent to it, by resource name. */
export type ResourceBytes = Record<string, [rx: number, tx: number]>
/** A session, with the named resources that it used. */
export type RecordedSession = Pick<
  GatewaysTables['vpn_sessions'],
  'session_id' | 'device_id' | 'user_id' | 'started_at' | 'last_seen_at' | 'source_ip'
> & { resources: string[] }
/** A device in a report, and whether it was denied a packet or failed to connect. */
export type ReportedDevice = { device_id: string; denied: boolean; failed: boolean }

export type GatewaysTables = {
  gateway_pools: {
    tenant_id: TenantId
    pool_id: string
    name: string
    region: Json<{ code: string; name?: string; lat?: number; lon?: number }>
    protocol: 'wireguard' | 'ipsec' | 'openvpn'
    selection: 'latency' | 'geo' | 'weighted'
    enabled: Default<boolean>
    capacity: number | null
    health_threshold: Default<number>
    nat: Default<'masquerade' | 'routed'>
    mtu: Default<number>
    dns: TextArray
    fail_mode: Default<'closed' | 'open'>
    lifetime_seconds: Default<number>
    requires_approval: Default<boolean>
    created_at: Default<Date>
    updated_at: Default<Date>
    name_key: Derived<string>
  }
  deleted_pools: { tenant_id: TenantId; pool_id: string; deleted_at: Date }
  gateways: {
    tenant_id: TenantId
    gateway_id: string
    pool_id: string
    name: string
    endpoints: Json<{ host: string; port: number; proto: 'udp' | 'tcp' }[]>
    public_key: string | null
    proposed_key: Default<string | null>
    listen_port: Default<number | null>
    version: Default<string | null>
    capabilities: TextArray
    weight: Default<number>
    draining: Default<boolean>
    drain_reason: string | null
    drained_at: Default<Date | null>
    created_at: Default<Date>
    updated_at: Default<Date>
    deleted_at: Date | null
    live_pool_id: Derived<string | null>
    name_key: Derived<string>
  }
  gateway_secrets: {
    tenant_id: TenantId
    gateway_id: string
    secret_id: string
    lookup: string
    secret_digest: Buffer
    secret_digest_version: number
    created_at: Default<Date>
    valid_until: Date | null
  }
  gateway_activity: {
    tenant_id: TenantId
    gateway_id: string
    boot_id: string | null
    version: string | null
    active_sessions: number | null
    rx_bps: number | null
    tx_bps: number | null
    applied_policy_digest: string | null
    applied_policy_seq: number | null
    applied_trust_version: number | null
    applied_at: Date | null
    /** Error that prevents the gateway from enforcing its snapshot; null if there is none, or none was reported. */
    apply_error: { code: string; detail: string; at: string } | null
    last_seen_at: Date
    system: SystemLoad | null
    /** Start of the present period without gaps in reports long enough to count as down. */
    up_since: Date | null
    clock_offset_ms: number | null
    certificate_expires_at: Date | null
    /** Start of the last gap of 30 seconds or more that ended with a report. */
    silent_from: Date | null
    heard_again_at: Date | null
    /** Time of the first report that it enforces its current sequence number. */
    applied_seq_at: Date | null
  }
  gateway_states: { tenant_id: TenantId; gateway_id: string; state: GatewayState; since: Date }
  gateway_state_changes: {
    tenant_id: TenantId
    gateway_id: string
    at: Date
    previous_state: GatewayState | null
    state: GatewayState
  }
  gateway_hours: { tenant_id: TenantId; gateway_id: string; hour: Date; sessions_most: number }
  vpn_sessions: {
    tenant_id: TenantId
    session_id: string
    device_id: string
    user_id: string | null
    gateway_id: string
    pool_id: string
    state: 'active' | 'ended'
    started_at: Date
    last_seen_at: Date
    ended_at: Date | null
    end_reason: string | null
    block_until: Default<Date | null>
    source_ip: string | null
    assigned_ip: string | null
    protocol: 'wireguard' | 'ipsec' | 'openvpn'
    client_version: string | null
    auth_method: string
    /** Policy that the gateway reports to enforce. */
    policy_digest: string | null
    /** Policy assigned to the device when the session began. */
    assigned_digest: string | null
    gateway_state: 'active' | 'ended' | null
    defied_since: Date | null
    posture_verdict: PostureVerdict
    rx_bytes: Default<number>
    tx_bytes: Default<number>
    rx_packets: Default<number>
    tx_packets: Default<number>
    denied_packets: Default<number>
    last_denied_at: Date | null
    latest_handshake_at: Date | null
    source_port: number | null
    resources: Default<ResourceBytes>
  }
  device_claims: {
    tenant_id: TenantId
    device_id: string
    gateway_id: string | null
    session_id: string | null
    state: 'connected' | 'disconnected'
    since: Date
    said_at: Date
    policy_digest: string | null
    latency_ms: number | null
    reason: string | null
  }
  connections_in_question: {
    tenant_id: TenantId
    question_id: string
    device_id: string
    gateway_id: string | null
    judge_at: Date
    verdict: 'stale' | 'conflict' | 'unauthorized' | null
    since: Date | null
    told: Default<boolean>
  }
  metering_reports: {
    tenant_id: TenantId
    interval_end: Date
    gateway_id: string
    boot_id: string
    sequence: number
    report_id: string
    interval_start: Date
    samples: number
    rx_bytes: number
    tx_bytes: number
    received_at: Generated<Date>
  }
  telemetry_events: {
    tenant_id: TenantId
    at: Date
    device_id: string
    event_id: string
    session_id: string | null
    kind: string
    gateway_id: string | null
    latency_ms: number | null
    loss_percent: number | null
    reason: string | null
    policy_digest: string | null
    received_at: Generated<Date>
  }
}
