type Types = { string: string; integer: number; boolean: boolean; strings: readonly string[] }
type Typed = keyof Types | `${keyof Types}?`

/**
 * Fields of a gateway's report about itself: the gateway, its own id of the event, the time by its own clock, and the
 * remote address, if there is one.
 */
const reported = {
  gateway_id: 'string',
  gateway_event_id: 'string',
  gateway_time: 'string',
  remote_ip: 'string?',
} as const

/**
 * Every kind of audit event, with its top-level fields besides the common ones, and their types. Those with `?` may be
 * absent.
 */
const auditFields = {
  'login.succeeded': { user_id: 'string', auth_method: 'string', break_glass: 'boolean?' },
  'login.challenged': { user_id: 'string' },
  'login.failed': { username: 'string', failure_reason: 'string' },
  'request.refused': { operation: 'string', endpoint: 'string?', reason: 'string?' },
  'auth.throttled': { credential: 'string', refused: 'integer' },
  'account.locked': { username: 'string', attempt_count: 'integer' },
  'session.started': { session_id: 'string', user_id: 'string' },
  'session.expired': { session_id: 'string', user_id: 'string', reason: 'string' },
  'api_key.used': { key_id: 'string', endpoint: 'string' },
  'api_key.created': { key_id: 'string', role: 'string', user_id: 'string?' },
  'api_key.revoked': { key_id: 'string', user_id: 'string?' },
  'api_key.refused': { key_id: 'string', reason: 'string', refused: 'integer' },
  'api_key.throttled': { key_id: 'string', refused: 'integer' },
  'session.stepped_up': { session_id: 'string', user_id: 'string' },
  'user.changed': { operation: 'string', user_id: 'string' },
  'user.password_changed': { user_id: 'string', method: 'string' },
  'user.break_glass_changed': { user_id: 'string', break_glass: 'boolean' },
  'user.mfa_enrollment_started': { user_id: 'string' },
  'user.mfa_enabled': { user_id: 'string' },
  'user.mfa_disabled': { user_id: 'string' },
  'role.granted': { user_id: 'string', role: 'string' },
  'role.revoked': { user_id: 'string', role: 'string' },
  'group.changed': { operation: 'string', group_id: 'string' },
  'directory.synced': { run_id: 'string', provider: 'string', status: 'string' },
  'directory.sync_undone': { run_id: 'string', provider: 'string' },
  'directory.searched': {},
  'directory.pull_started': { run_id: 'string', provider: 'string' },
  'directory.pull_cancelled': { run_id: 'string', provider: 'string' },
  'directory_source.created': { source_id: 'string' },
  'directory_source.updated': { source_id: 'string' },
  'directory_source.deleted': { source_id: 'string' },
  'directory_source.tested': { source_id: 'string', ok: 'boolean' },
  'enrollment_token.created': { token_id: 'string' },
  'enrollment_token.revoked': { token_id: 'string' },
  'enrollment_challenge.refused': { challenge_id: 'string', reason: 'string', refused: 'integer' },
  'enrollment_token.refused': { token_id: 'string', reason: 'string', refused: 'integer' },
  'device.enrolled': { device_id: 'string', method: 'string', token_id: 'string?', provider_id: 'string?' },
  'device_grant.created': { provider_id: 'string' },
  'saml_request.created': { provider_id: 'string' },
  'device.enrollment_refused': { method: 'string', provider_id: 'string?', reason: 'string' },
  'device.renewed': { device_id: 'string' },
  'device.refused': { device_id: 'string', reason: 'string', refused: 'integer' },
  'device.changed': { operation: 'string', device_id: 'string' },
  'device.batch_changed': { operation: 'string', matched: 'integer', changed: 'integer' },
  'posture.reported': { device_id: 'string', verdict: 'string' },
  'policy.published': { bundle_id: 'string', channel: 'string', version: 'integer', digest: 'string' },
  'policy.gate_passed': { bundle_id: 'string', version: 'integer', reason: 'string' },
  'policy.gate_failed': {
    bundle_id: 'string',
    version: 'integer',
    reason: 'string',
    action: 'string',
    rolled_back_to: 'string?',
  },
  'policy.validated': { valid: 'boolean' },
  'policy.simulated': { questions: 'integer' },
  'policy.replayed': { sessions: 'integer', blocked: 'integer' },
  'policy.explained': { decision: 'string' },
  'policy.access_listed': { devices: 'integer' },
  'policy.draft_created': { draft_id: 'string', size: 'integer', digest: 'string' },
  'policy.draft_updated': { draft_id: 'string', size: 'integer', digest: 'string' },
  'policy.draft_deleted': { draft_id: 'string', size: 'integer', digest: 'string' },
  'gateway_pool.created': { pool_id: 'string' },
  'gateway_pool.updated': { pool_id: 'string' },
  'gateway_pool.deleted': { pool_id: 'string' },
  'gateway.created': { gateway_id: 'string', pool_id: 'string' },
  'gateway.updated': { gateway_id: 'string' },
  'gateway.deleted': { gateway_id: 'string' },
  'gateway.secret_rotated': { gateway_id: 'string' },
  'gateway.drained': { gateway_id: 'string', draining: 'boolean' },
  'gateway.identified': { gateway_id: 'string' },
  'gateway.approved': { gateway_id: 'string' },
  'gateway.heartbeat': { gateway_id: 'string' },
  'gateway.refused': { gateway_id: 'string', reason: 'string', refused: 'integer' },
  'gateway.metered': { gateway_id: 'string', report_id: 'string' },
  'telemetry.ingested': { device_id: 'string', events: 'integer' },
  'vpn_session.terminated': { session_ids: 'strings', reason: 'string?' },
  'security_settings.updated': {},
  'enrollment_settings.updated': {},
  'start_step.dismissed': { step: 'string', dismissed: 'boolean' },
  'identity_provider.created': { provider_id: 'string' },
  'identity_provider.updated': { provider_id: 'string' },
  'identity_provider.deleted': { provider_id: 'string' },
  'identity_provider.tested': { provider_id: 'string', ok: 'boolean' },
  'backchannel_logout.received': { provider_id: 'string', sessions_ended: 'integer' },
  'backchannel_logout.refused': { provider_id: 'string', reason: 'string', refused: 'integer' },
  'tenant.changed': { operation: 'string', tenant_id: 'string' },
  'plan.created': { plan_id: 'string' },
  'plan.updated': { plan_id: 'string' },
  'plan.deleted': { plan_id: 'string' },
  'deployment.fenced': { cause: 'string', taken_at: 'string?' },
  'license.reloaded': { edition: 'string', license_id: 'string?' },
  'entitlement.exceeded': { metric: 'string', used: 'integer', limit: 'integer', refused: 'integer' },
  'entitlement.reconciled': { metric: 'string', counted: 'integer', found: 'integer' },
  'signer.created': { signer_id: 'string', purpose: 'string' },
  'signer.activated': { signer_id: 'string', purpose: 'string' },
  'signer.retired': { signer_id: 'string', purpose: 'string' },
  'trust_anchors.rotated': { anchor_id: 'string', mode: 'string' },
  'issuing_ca.renewed': { signer_id: 'string' },
  'spc.issued': { spc_id: 'string', device_id: 'string' },
  'spc.rotated': { spc_id: 'string', device_id: 'string', replaces: 'string' },
  'spc.revoked': { spc_id: 'string', device_id: 'string', reason: 'string' },
  'spc.validated': { status: 'string' },
  'release.created': { release_id: 'string', release_version: 'string' },
  'release.updated': { release_id: 'string' },
  'release.deleted': { release_id: 'string', release_version: 'string' },
  'release.changed': { operation: 'string', release_id: 'string', release_version: 'string' },
  'package.created': { package_id: 'string', release_id: 'string', sha256: 'string' },
  'package.deleted': { package_id: 'string', release_id: 'string' },
  'update_root.replaced': { root_version: 'integer' },
  'lock.set': { lock_id: 'string', target_type: 'string' },
  'lock.released': { lock_id: 'string', target_type: 'string' },
  'workflow.started': { workflow: 'string', workflow_run_id: 'string?', dry_run: 'boolean' },
  'workflow.changed': { workflow: 'string', workflow_run_id: 'string', operation: 'string' },
  'workflow.finished': { workflow: 'string', workflow_run_id: 'string', status: 'string', evidence_digest: 'string' },
  'audit.export_started': { format: 'string' },
  'audit.exported': { format: 'string', events: 'integer' },
  'siem_connector.created': { connector_id: 'string' },
  'siem_connector.updated': { connector_id: 'string' },
  'siem_connector.deleted': { connector_id: 'string' },
  'siem_connector.tested': { connector_id: 'string', ok: 'boolean' },
  'siem_connector.replayed': { connector_id: 'string', events: 'integer' },
  'siem_connector.set_aside': { connector_id: 'string', event_seq: 'integer' },
  'siem_connector.parked': { connector_id: 'string' },
  'siem_connector.resumed': { connector_id: 'string' },
  'siem_export.started': { connector_id: 'string', export_id: 'string' },
  'view.created': { view_id: 'string', list: 'string', shared: 'boolean' },
  'view.updated': { view_id: 'string', list: 'string', shared: 'boolean' },
  'view.deleted': { view_id: 'string', list: 'string', shared: 'boolean' },
  'notification.acknowledged': { notification_id: 'string' },
  'notification_settings.updated': {},
  'notification_settings.tested': { succeeded: 'integer', failed: 'integer' },
  'audit.ingested': { gateway_id: 'string' },
  'gateway_report.started': reported,
  'gateway_report.stopped': reported,
  'gateway_report.accessed': reported,
  'gateway_report.config_changed': reported,
  'gateway_report.software_changed': reported,
  'gateway_report.clock_changed': reported,
  'gateway_report.integrity_violated': reported,
  'gateway_report.peer_connected': reported,
  'gateway_report.peer_disconnected': reported,
  'gateway_report.peer_refused': reported,
  'gateway_report.traffic_denied': reported,
  'gateway_report.failed': reported,
  'retention.updated': {},
  'retention.purged': {
    class: 'string',
    count: 'integer',
    up_to: 'string',
    from_seq: 'integer?',
    up_to_seq: 'integer?',
    months: 'strings?',
  },
  'legal_hold.placed': { legal_hold_id: 'string' },
  'legal_hold.released': { legal_hold_id: 'string' },
} as const satisfies Record<string, Record<string, Typed>>
export type AuditKind = keyof typeof auditFields
export const auditKinds = Object.keys(auditFields) as [AuditKind, ...AuditKind[]]

/** Kinds that a gateway may report. All others are observations of this server. */
type ReportedKind = Extract<AuditKind, `gateway_report.${string}`>
export const reportedKinds = auditKinds.filter((kind): kind is ReportedKind => kind.startsWith('gateway_report.'))

type TypeOf<T> = T extends keyof Types ? Types[T] : never
type Optional<F> = {
  [K in keyof F as F[K] extends `${string}?` ? K : never]?: F[K] extends `${infer T}?` ? TypeOf<T> : never
}
type Required<F> = { [K in keyof F as F[K] extends `${string}?` ? never : K]: TypeOf<F[K]> }
export type AuditFields = { [K in AuditKind]: Required<(typeof auditFields)[K]> & Optional<(typeof auditFields)[K]> }

/** Returns each field of any kind: its type, and the kinds that have it. */
export const auditFieldTypes = (): Map<string, { type: keyof Types; kinds: AuditKind[] }> => {
  const all = new Map<string, { type: keyof Types; kinds: AuditKind[] }>()
  for (const kind of auditKinds)
    for (const [name, typed] of Object.entries(auditFields[kind] as Record<string, Typed>)) {
      const field = all.get(name) ?? { type: typed.replace('?', '') as keyof Types, kinds: [] }
      field.kinds.push(kind)
      all.set(name, field)
    }
  return all
}

/** Returns the top-level fields of an event of this kind, besides the common ones. */
export const fieldsOfKind = (kind: AuditKind): { name: string; isOptional: boolean }[] =>
  Object.entries(auditFields[kind] as Record<string, Typed>).map(([name, typed]) => ({
    name,
    isOptional: typed.endsWith('?'),
  }))
