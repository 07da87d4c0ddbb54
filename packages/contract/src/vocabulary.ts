/** Vocabulary shared by API, database, code, interface and audit log. */

export const credentialKinds = [
  'session',
  'api_key',
  'device',
  'gateway',
  'enrollment_token',
  'enrollment_challenge',
] as const
export type CredentialKind = (typeof credentialKinds)[number]

/** The prefix of each resource's TypeID. */
export const idPrefixes = {
  tenant: 'tnt',
  user: 'usr',
  group: 'grp',
  device: 'dev',
  enrollment_token: 'tok',
  enrollment_challenge: 'chl',
  api_key: 'key',
  policy_bundle: 'pol',
  policy_draft: 'drf',
  gateway_pool: 'gwp',
  gateway: 'gwy',
  admin_session: 'ses',
  vpn_session: 'vse',
  signer: 'sgn',
  audit_event: 'evt',
  notification: 'ntf',
  identity_provider: 'idp',
  directory_run: 'run',
  directory_source: 'dsr',
  plan: 'pln',
  spc: 'spc',
  release: 'rel',
  package: 'pkg',
  lock: 'lck',
  workflow_run: 'wfr',
  siem_connector: 'sie',
  siem_export: 'exp',
  legal_hold: 'lgh',
  view: 'viw',
} as const
export type Noun = keyof typeof idPrefixes

/** Returns a noun as in a sentence: an API key, a user. */
export const spoken = (noun: string): string =>
  noun
    .replaceAll('_', ' ')
    .replace(/^api\b/, 'API')
    .replace(/^(?:siem|spc|vpn)\b/, (word) => word.toUpperCase())
/** A name of letters, such as SPC, is spoken letter by letter: an SPC. */
export const aOrAn = (noun: string): string => `${/^(?:(?!u[sn])[aeiou]|spc)/.test(noun) ? 'an' : 'a'} ${spoken(noun)}`

export const errorStatus = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  entitlement_exceeded: 409,
  validation_error: 422,
  rate_limited: 429,
  internal_error: 500,
} as const
export type ErrorCode = keyof typeof errorStatus

/** Error types of SCIM for a bad request (RFC 7644 §3.12). */
export const scimTypes = [
  'invalidFilter',
  'tooMany',
  'uniqueness',
  'mutability',
  'invalidSyntax',
  'invalidPath',
  'noTarget',
  'invalidValue',
] as const
export type ScimType = (typeof scimTypes)[number]

const areas = [
  'users',
  'credentials',
  'groups',
  'rbac',
  'devices',
  'enrollment_tokens',
  'sessions',
  'policy',
  'settings',
  'api_keys',
  'tenants',
  'license',
  'usage',
  'audit',
  'siem',
  'gateways',
  'trust',
  'spc',
  'posture',
  'updates',
  'operations',
  'exports',
  'workflows',
  'incidents',
  'directory',
] as const
type Area = (typeof areas)[number]
const special = [
  'policy:publish',
  'trust:rotate',
  'sessions:terminate',
  'devices:suspend',
  'workflows:run',
  'incidents:run',
  'directory:sync',
  'audit:export',
] as const
export type Permission = `${Area}:read` | `${Area}:write` | (typeof special)[number]

const reads = areas.map((area) => `${area}:read` as const)
const writes = areas.map((area) => `${area}:write` as const)
/** Every permission, in the order in which the role matrix prints them. */
export const permissions: readonly Permission[] = [
  ...areas.flatMap((a) => [`${a}:read`, `${a}:write`] as const),
  ...special,
]

const without = (all: readonly Permission[], ...taken: Permission[]) => all.filter((p) => !taken.includes(p))
const all = [...reads, ...writes, ...special]

/** Permissions of each role in its tenant; `platform_admin` has them in every tenant. */
export const roles = {
  platform_admin: all,
  tenant_admin: without(all, 'tenants:write', 'license:write'),
  security_admin: [
    ...reads,
    'policy:write',
    'policy:publish',
    'trust:write',
    'trust:rotate',
    'spc:write',
    'posture:write',
    'settings:write',
    'incidents:write',
    'incidents:run',
    'siem:write',
    'sessions:terminate',
    'devices:write',
    'devices:suspend',
    'audit:export',
  ],
  operator: [
    ...without(reads, 'api_keys:read'),
    'devices:write',
    'devices:suspend',
    'enrollment_tokens:write',
    'gateways:write',
    'updates:write',
    'sessions:terminate',
    'workflows:run',
  ],
  helpdesk: [
    'users:read',
    'groups:read',
    'devices:read',
    'sessions:read',
    'credentials:write',
    'enrollment_tokens:write',
    'devices:suspend',
  ],
  auditor: [...reads, 'audit:export'],
  viewer: [
    'operations:read',
    'devices:read',
    'users:read',
    'groups:read',
    'gateways:read',
    'sessions:read',
    'policy:read',
  ],
} as const satisfies Record<string, readonly Permission[]>
export type Role = keyof typeof roles
export const roleNames = Object.keys(roles) as [Role, ...Role[]]

/** Kinds of identity providers. All but `oidc` and `saml` are OpenID Connect with the defaults of one product. */
export const identityProviderKinds = ['oidc', 'keycloak', 'entra_id', 'okta', 'saml'] as const
export type IdentityProviderKind = (typeof identityProviderKinds)[number]
/** SAML products. Each preset provides default names of a person's attributes. */
export const samlPresets = ['generic', 'keycloak', 'entra_id', 'okta'] as const
export type SamlPreset = (typeof samlPresets)[number]
/**
 * Formats in which a SAML identity provider identifies people. An e-mail address or a transient name is not accepted.
 */
export const nameIdFormats = ['persistent', 'unspecified'] as const

/** Enrollment of machines without a browser by a provider (RFC 8628): off, with approval, or without. */
export const deviceCodeUses = ['off', 'approval', 'on'] as const
export type DeviceCodeUse = (typeof deviceCodeUses)[number]

/** Directories that this server reads. Other directories are pushed as snapshots. */
export const directorySourceKinds = ['keycloak', 'entra_id', 'okta'] as const
export type DirectorySourceKind = (typeof directorySourceKinds)[number]

/** Actions that a session must complete before it may do anything else. */
export const requiredActions = ['change_password', 'enroll_mfa'] as const
export type RequiredAction = (typeof requiredActions)[number]

/**
 * Status for a device that proved its key, in a header, unless the device is simply active. On 200 and 304: it still
 * waits for approval. On 401: it was suspended (temporary) or revoked (permanent).
 */
export const deviceStatusHeader = 'holdfast-device-status'
export const toldDeviceStatuses = ['pending', 'suspended', 'revoked'] as const
export type ToldDeviceStatus = (typeof toldDeviceStatuses)[number]

/**
 * Methods of a device's enrollment. Its row, the audit event and the claim `enr` of its credential use the same words.
 */
export const enrollmentMethods = ['token', 'oidc', 'saml', 'device_code'] as const
export type EnrollmentMethod = (typeof enrollmentMethods)[number]

/** States of a tenant: its callers are accepted, its callers are refused, or it is to be deleted at a stated time. */
export const tenantStatuses = ['active', 'suspended', 'deleting'] as const

/** Metrics with a count. An addition beyond the limit is refused. */
export const countedMetrics = ['users', 'devices', 'gateways', 'sessions', 'api_keys'] as const
export type CountedMetric = (typeof countedMetrics)[number]
/**
 * Metrics that a plan limits. Gigabytes (10^9 bytes) are the traffic of the calendar month (UTC); their limit refuses
 * nothing.
 */
export const entitlementMetrics = [...countedMetrics, 'bandwidth_gb_month'] as const
export type EntitlementMetric = (typeof entitlementMetrics)[number]
/** State of a metric relative to its limit; `approaching` from 80 %. */
export const entitlementStates = ['ok', 'approaching', 'at_limit', 'over'] as const
/**
 * `required`: a license is configured, but no valid one was ever loaded. Then, and once `expired`, nothing can be
 * added.
 */
export const licenseStates = ['active', 'grace', 'expired', 'required'] as const
export type LicenseState = (typeof licenseStates)[number]

/** Connectors that forward audit events, their formats, and the states of connectors and exports. */
export const siemConnectorKinds = ['syslog_tls', 'syslog_tcp', 'webhook', 'splunk_hec', 'opensearch'] as const
export type SiemConnectorKind = (typeof siemConnectorKinds)[number]
export const siemFormats = ['json', 'ocsf', 'cef'] as const
export type SiemFormat = (typeof siemFormats)[number]
export const siemConnectorStates = ['disabled', 'active', 'retrying', 'parked'] as const
export const siemExportStatuses = ['preparing', 'running', 'finished', 'failed'] as const

/** Kinds of notifications for administrators. */
export const notificationKinds = [
  'account.locked',
  'break_glass.used',
  'clock.untrusted',
  'connection.conflict',
  'connection.stale',
  'connection.unauthorized',
  'device.awaiting_approval',
  'directory.failing',
  'directory.held',
  'directory.recovered',
  'entitlement.approaching',
  'entitlement.at_limit',
  'entitlement.exceeded',
  'entitlement.over',
  'expiring',
  'gateway.down',
  'license.problem',
  'policy.gate_failed',
  'release.halted',
  'siem.dead_letters',
  'siem.failing',
  'siem.parked',
  'tenant.deletion_scheduled',
  'update_root.due',
  'webhook.disabled',
  'workflow.awaiting_approval',
] as const
export type NotificationKind = (typeof notificationKinds)[number]
/** From the least to the most urgent. */
export const notificationSeverities = ['info', 'warning', 'critical'] as const
export type NotificationSeverity = (typeof notificationSeverities)[number]
export const notificationChannels = ['email', 'webhook'] as const
export type NotificationChannel = (typeof notificationChannels)[number]

/** Origin of a request in an audit event. */
export type Origin = 'api' | 'console' | 'device' | 'gateway' | 'job'

export type { AuditFields, AuditKind } from './audit-fields.ts'
export * from './policy-vocabulary.ts'
export * from './release-vocabulary.ts'
export * from './start-vocabulary.ts'
export * from './trust-vocabulary.ts'

/** Data that is kept for a time that a tenant sets. A legal hold keeps it longer. */
export const retentionClasses = [
  'audit',
  'vpn_sessions',
  'telemetry',
  'metering',
  'admin_sessions',
  'notifications',
  'policy',
  'enrollment_tokens',
  'revoked_devices',
] as const
export type RetentionClass = (typeof retentionClasses)[number]
export const retentionSources = ['tenant', 'deployment', 'default'] as const
export * from './workflow-vocabulary.ts'

/** The kinds that a search finds. */
export const searchKinds = [
  'device',
  'user',
  'group',
  'gateway',
  'gateway_pool',
  'enrollment_token',
  'vpn_session',
  'api_key',
  'policy_version',
  'policy_resource',
  'settings_page',
] as const
export type SearchKind = (typeof searchKinds)[number]

/** The operations and playbooks that a search hit can name. */
export const searchActions = [
  'approve',
  'suspend',
  'reactivate',
  'revoke',
  'unlock',
  'drain',
  'undrain',
  'terminate',
  'lost_device',
  'compromised_user',
  'compromised_gateway',
] as const
export type SearchAction = (typeof searchActions)[number]

/** The lists that a saved view can belong to, and the operation that reads each. */
export const viewLists = {
  devices: 'listDevices',
  users: 'listUsers',
  groups: 'listGroups',
  gateways: 'listAllGateways',
  sessions: 'listSessions',
  tokens: 'listTokens',
  api_keys: 'listApiKeys',
  certificates: 'listSpcs',
  notifications: 'listNotifications',
  runs: 'listWorkflowRuns',
  locks: 'listLocks',
  audit: 'listAuditEvents',
  releases: 'listReleases',
} as const
export type ViewList = keyof typeof viewLists
export const viewListNames = Object.keys(viewLists) as [ViewList, ...ViewList[]]

/** Most views of a person, and most that a tenant shares. */
export const viewLimits = { own: 100, shared: 100 } as const

/** The permission to change a shared view of another person. */
export const sharedViewPermission: Permission = 'settings:write'
