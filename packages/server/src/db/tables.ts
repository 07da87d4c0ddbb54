import type { NotificationChannel, NotificationKind, NotificationSeverity } from '@holdfast/contract/vocabulary'
import type { ColumnType, Generated } from 'kysely'

type Default<T> = ColumnType<T, T | undefined, T>
/** bigint columns are read as numbers: sequence numbers and byte counts stay below 2^53. */
type Json<T> = ColumnType<T, string, string>
type TextArray = Default<string[]>
/** Made by the database from other columns. */
type Derived<T> = ColumnType<T, never, never>

export type Tables = {
  tenants: { tenant_id: string; name: string; canary_salt: Buffer; created_at: Generated<Date> }
  tenant_settings: {
    tenant_id: string
    security: Json<Record<string, Record<string, unknown>>>
    updated_at: Default<Date>
  }
  tenant_epochs: {
    tenant_id: string
    seq: Default<number>
    policy_version: Default<number>
    addresses: Default<number>
    changed_at: Generated<Date>
  }
  changes: { tenant_id: string; seq: number; kind: string; subject: string; at: Generated<Date> }
  users: {
    tenant_id: string
    user_id: string
    kind: Default<'person' | 'service'>
    username: string
    email: string | null
    display_name: Default<string>
    status: Default<'active' | 'suspended'>
    source: Default<'local' | 'directory' | 'sso'>
    password_phc: string | null
    failed_logins: Default<number>
    locked_until: Date | null
    created_at: Default<Date>
    updated_at: Default<Date>
    last_login_at: Date | null
    deleted_at: Date | null
    password_must_change: Default<boolean>
    username_key: Derived<string>
    email_key: Derived<string | null>
    display_name_key: Derived<string>
    password_expires_at: Date | null
  }
  user_roles: {
    tenant_id: string
    user_id: string
    role: string
    granted_at: Default<Date>
    grant_id: Generated<string>
    granted_by: string | null
  }
  user_totp: {
    tenant_id: string
    user_id: string
    seed_jwe: string
    expires_at: Date
    enrolled_at: Date | null
    last_step: Default<number>
  }
  recovery_codes: { tenant_id: string; user_id: string; code_digest: Buffer; used_at: Date | null }
  deleted_groups: {
    tenant_id: string
    group_id: string
    name: string
    description: string
    source: 'local' | 'directory'
    created_at: Date
    deleted_at: Date
  }
  groups: {
    tenant_id: string
    group_id: string
    name: string
    description: Default<string>
    source: Default<'local' | 'directory'>
    created_at: Default<Date>
    updated_at: Default<Date>
    member_count: Default<number>
    name_key: Derived<string>
  }
  free_addresses: { tenant_id: string; address_number: number; released_at: Generated<Date> }
  device_tags: { tenant_id: string; tag: string; device_id: string }
  device_groups: { tenant_id: string; group_id: string; device_id: string }
  group_members: { tenant_id: string; group_id: string; user_id: string }
  admin_sessions: {
    tenant_id: string
    session_id: string
    user_id: string
    secret_digest: Buffer
    auth_method: string
    source_ip: string | null
    user_agent: string | null
    started_at: Date
    last_seen_at: Date
    idle_seconds: number
    expires_at: Date
    ended_at: Date | null
    end_reason: 'timeout' | 'manual' | null
    stepped_up_at: Date | null
  }
  api_keys: {
    tenant_id: string
    key_id: string
    lookup: string
    secret_digest: Buffer
    hint: string
    name: string
    role: string
    allowed_cidrs: TextArray
    created_by: string | null
    created_at: Default<Date>
    expires_at: Date | null
    revoked_at: Date | null
    owner_tenant_id: string | null
    owner_user_id: string | null
  }
  api_key_activity: { tenant_id: string; key_id: string; last_used_at: Date }
  enrollment_tokens: {
    tenant_id: string
    token_id: string
    lookup: string
    secret_digest: Buffer
    hint: string
    name: Default<string>
    kind: 'enroll' | 'bootstrap'
    max_uses: number
    uses: Default<number>
    expires_at: Date
    user_id: string | null
    group_ids: TextArray
    tags: TextArray
    platforms: TextArray
    allowed_cidrs: TextArray
    requires_approval: Default<boolean>
    ephemeral_seconds: number | null
    max_devices_per_user: number | null
    created_by: string | null
    created_at: Default<Date>
    last_used_at: Date | null
    revoked_at: Date | null
    name_key: Derived<string>
    is_spent: Derived<boolean>
  }
  devices: {
    tenant_id: string
    device_id: string
    user_id: string | null
    name: string
    platform: string
    os_version: string | null
    client_version: string | null
    serial: string | null
    tags: TextArray
    group_ids: TextArray
    status: DeviceStatus
    channel: Default<'auto' | 'canary' | 'stable'>
    jkt: string | null
    public_jwk: Json<object> | null
    wireguard_public_key: string | null
    address_number: number
    generation: Default<number>
    previous_generation_until: Date | null
    previous_jkt: string | null
    credential_expires_at: Date
    credential_renew_after: Date
    enrolled_method: string
    token_id: string | null
    ephemeral_seconds: number | null
    enrolled_at: Default<Date>
    updated_at: Default<Date>
    revoked_at: Date | null
    name_key: Derived<string>
  }
  device_activity: {
    tenant_id: string
    device_id: string
    last_seen_at: Date | null
    applied_digest: string | null
    applied_at: Date | null
  }
  device_postures: {
    tenant_id: string
    device_id: string
    facts: Json<Record<string, unknown>>
    facts_digest: string
    verdict: PostureVerdict
    reported_at: Date
    valid_until: Date | null
  }
  policy_bundles: {
    tenant_id: string
    bundle_id: string
    version: number
    seq: number
    channel: 'canary' | 'stable'
    digest: string
    previous_digest: string | null
    document: Json<unknown>
    resolution: Json<unknown>
    note: Default<string>
    published_by: string | null
    published_at: Default<Date>
    rollout_percent: Default<number>
    rollout_group_ids: TextArray
    rollout_device_ids: TextArray
    tests: Json<unknown>
    impact: Json<unknown>
  }
  policy_channels: { tenant_id: string; channel: 'canary' | 'stable'; version: number }
  policy_variants: {
    tenant_id: string
    digest: string
    version: number
    bundle: string
    expires_at: Date
    created_at: Generated<Date>
  }
  gateway_pools: {
    tenant_id: string
    pool_id: string
    name: string
    region: Json<{ code: string; name?: string; lat?: number; lon?: number }>
    protocol: 'wireguard' | 'ipsec' | 'openvpn'
    selection: 'latency' | 'geo' | 'weighted'
    enabled: Default<boolean>
    capacity: number | null
    address_cidrs: TextArray
    health_threshold: Default<number>
    created_at: Default<Date>
    updated_at: Default<Date>
    name_key: Derived<string>
  }
  gateways: {
    tenant_id: string
    gateway_id: string
    pool_id: string
    name: string
    endpoints: Json<{ host: string; port: number; proto: 'udp' | 'tcp' }[]>
    public_key: string | null
    weight: Default<number>
    draining: Default<boolean>
    drain_reason: string | null
    created_at: Default<Date>
    updated_at: Default<Date>
    deleted_at: Date | null
    live_pool_id: ColumnType<string | null, never, never>
    name_key: Derived<string>
  }
  gateway_secrets: {
    tenant_id: string
    gateway_id: string
    secret_id: string
    lookup: string
    secret_digest: Buffer
    created_at: Default<Date>
    valid_until: Date | null
  }
  gateway_activity: {
    tenant_id: string
    gateway_id: string
    boot_id: string | null
    version: string | null
    active_sessions: Default<number>
    rx_bps: Default<number>
    tx_bps: Default<number>
    applied_policy_digest: string | null
    applied_policy_seq: number | null
    applied_trust_version: number | null
    applied_at: Date | null
    last_seen_at: Date
  }
  vpn_sessions: {
    tenant_id: string
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
    source_ip: string | null
    assigned_ip: string | null
    protocol: 'wireguard' | 'ipsec' | 'openvpn'
    client_version: string | null
    auth_method: string
    policy_digest: string | null
    posture_verdict: PostureVerdict
    rx_bytes: Default<number>
    tx_bytes: Default<number>
  }
  signing_keys: {
    tenant_id: string
    signer_id: string
    kid: string
    purpose: string
    alg: string
    state: 'pending' | 'active' | 'retiring' | 'retired' | 'compromised'
    public_jwk: Json<Record<string, string>>
    private_jwe: string
    certificate: string | null
    created_at: Default<Date>
  }
  trust_sets: {
    tenant_id: string
    version: number
    document: Json<unknown>
    expires_at: Date
    created_at: Default<Date>
  }
  audit_events: {
    tenant_id: string
    event_id: string
    at: Date
    kind: string
    outcome: 'success' | 'refused' | 'failed'
    actor_type: string
    actor_id: string | null
    actor_name: string | null
    target_type: string | null
    target_id: string | null
    target_name: string | null
    source_ip: string | null
    user_agent: string | null
    request_id: string | null
    origin: string
    fields: Json<Record<string, unknown>>
    changes: Json<Record<string, unknown>> | null
    details: Json<Record<string, unknown>> | null
    actor_name_key: Derived<string | null>
    target_name_key: Derived<string | null>
  }
  metering_reports: {
    tenant_id: string
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
    tenant_id: string
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
  notifications: {
    tenant_id: string
    notification_id: string
    kind: NotificationKind
    severity: NotificationSeverity
    title: string
    detail: string
    subject_type: string
    subject_id: string | null
    subject_name: string | null
    dedupe_key: string | null
    created_at: Date
    acknowledged_at: Date | null
    acknowledged_by_type: string | null
    acknowledged_by_id: string | null
    acknowledged_by_name: string | null
  }
  notification_deliveries: {
    tenant_id: string
    notification_id: string
    channel: NotificationChannel
    recipient: Default<string>
    state: Default<'pending' | 'delivered' | 'failed'>
    attempts: Default<number>
    next_attempt_at: Date | null
    finished_at: Date | null
    last_error: string | null
  }
  notification_settings: {
    tenant_id: string
    email: Json<Record<string, unknown>>
    webhook: Json<Record<string, unknown>>
    webhook_secret_jwe: string | null
    updated_at: Date
  }
  proofs_seen: { proof: Buffer; expires_at: Date }
  replicas: { replica_id: string; seen_at: Date }
  login_failures: { source: string; window_start: Date; failures: number }
  idempotency_keys: {
    tenant_id: string
    principal: string
    key: string
    fingerprint: Buffer
    answer_jwe: string | null
    state: Default<'started' | 'done'>
    attempt: Default<string>
    created_at: Default<Date>
  }
}

export type DeviceStatus = 'pending' | 'active' | 'suspended' | 'revoked'
export type PostureVerdict = 'compliant' | 'non_compliant' | 'unknown'
