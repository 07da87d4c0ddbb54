import type { Static, TSchema } from 'typebox'
import type { Contract, Operation } from './index.ts'
import { exampleId } from './schema.ts'
import { settingsExamples } from './settings-examples.ts'
import { workflowExamples } from './workflow-examples.ts'

type WithBody = {
  [K in Operation]: Contract[K] extends { upload: true } ? never : Contract[K] extends { body: TSchema } ? K : never
}[Operation]
type BodyOf<E> = E extends { body: infer S extends TSchema } ? Static<S> : never

const user_id = exampleId('user')
const device_id = exampleId('device')
const group_id = exampleId('group')
const provider_id = exampleId('identity_provider')
const keyid = 'ab'.repeat(32)
const tufRole = { keyids: [keyid], threshold: 1 }
const at = '2026-01-31T09:30:00.000Z'
/** Of one P-256 key: a request, and a certificate that no authority of a tenant issued. */
const csr =
  'MIHKMHMCAQAwETEPMA0GA1UEAwwGZGV2aWNlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEIso5CwJ8V3MEiDooD8PHRgjCWZmQ9EGdgKOFNSdfc9xC9G/xhJ4Et0BuNrOD/bZmjx4tVtkrH8TtmNuUFXl1ZKAAMAoGCCqGSM49BAMCA0cAMEQCIEXzOuORR5QmjIGZdJXCqq+TemHUMrFx8PLQu1xQpdgQAiAThSntBxyl191wxwjTnadTfI+GcP35BlsMk5/lcrJ1jw=='
const certificate =
  'MIIBeDCCAR2gAwIBAgIUTEMJLzjphGxVxX/hSSnx+np7WvcwCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGZGV2aWNlMB4XDTI2MTEyMzA1MjczN1oXDTM2MTEyMDA1MjczN1owETEPMA0GA1UEAwwGZGV2aWNlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEIso5CwJ8V3MEiDooD8PHRgjCWZmQ9EGdgKOFNSdfc9xC9G/xhJ4Et0BuNrOD/bZmjx4tVtkrH8TtmNuUFXl1ZKNTMFEwHQYDVR0OBBYEFEChc7ltQTVddGd4108U9gSmmsgrMB8GA1UdIwQYMBaAFEChc7ltQTVddGd4108U9gSmmsgrMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAIvxJvkiV+LvtX7M94g7n3bH26AEZT5SS61lyfNqHFEyAiEAvETVayZ6D0mWMqR1HK7MSJxJZA1IqSrtn3cgjP3nClk='
const policy = {
  schema: 'holdfast.policy/1',
  rules: [{ id: 'ssh', action: 'allow', from: { tags: ['laptop'] }, to: ['10.1.0.0/16'], ports: ['tcp/22'] }],
}

/**
 * A valid body for every endpoint that has one. The API description shows it, and tests send it with ids that exist.
 */
export const examples: { [K in WithBody]: BodyOf<Contract[K]> } = {
  createSigner: { purpose: 'policy' },
  activateSigner: { reason: 'yearly rotation' },
  retireSigner: { reason: 'yearly rotation' },
  rotateTrustAnchors: { mode: 'planned', reason: 'yearly rotation' },
  issueSpc: { csr, device_id },
  rotateSpc: { spc_id: exampleId('spc'), csr },
  revokeSpc: { spc_id: exampleId('spc'), reason: 'keyCompromise' },
  validateSpc: { certificate },
  changeTenant: {
    operation: 'create',
    tenant: { name: 'acme', display_name: 'Acme Inc.', limits: { users: 50, devices: 100 } },
    administrator: { username: 'jane', email: 'jane@acme.example' },
  },
  createPlan: { name: 'team', limits: { users: 50, devices: 100, bandwidth_gb_month: 1000 }, features: ['siem'] },
  updatePlan: { name: 'team', limits: { users: 80, devices: 200 }, features: ['siem'] },
  login: { username: 'jane', password: 'correct horse battery staple' },
  stepUp: { code: '123456' },
  endAdminSession: { reason: 'left on a shared computer' },
  createApiKey: { name: 'ci', role: 'viewer' },
  revokeApiKey: { reason: 'no longer used' },
  revokeApiKeysOfUser: { user_id, reason: 'phished' },
  ...workflowExamples,
  changeUser: { operation: 'create', user: { username: 'jane' } },
  suspendUser: { user_id, reason: 'on leave' },
  reactivateUser: { user_id },
  unlockUser: { user_id },
  setBreakGlass: { user_id, break_glass: true },
  changePassword: { user_id, generate: true },
  enrollTotp: { user_id },
  verifyTotp: { user_id, code: '123456' },
  disableTotp: { user_id, reason: 'lost the phone' },
  grantRole: { user_id, role: 'viewer' },
  revokeRole: { user_id, role: 'viewer' },
  changeGroup: { operation: 'create', group: { name: 'engineering' } },
  ingestDirectorySnapshot: {
    provider: 'corp',
    snapshot_id: '2026-01-31-1',
    generated_at: at,
    full: true,
    users: [{ externalId: 'u-1', userName: 'joe', displayName: 'Joe', emails: ['joe@example.com'], active: true }],
    groups: [{ externalId: 'g-1', displayName: 'sales', members: ['u-1'] }],
  },
  confirmDirectoryRun: { reason: 'the branch was sold' },
  undoDirectoryRun: { reason: 'the export was cut short' },
  searchScim: {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
    filter: 'displayName sw "corp"',
    attributes: ['displayName'],
  },
  searchScimUsers: {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
    filter: 'userName eq "jane@corp.example.com"',
    startIndex: 1,
    count: 10,
  },
  searchScimGroups: {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'],
    filter: 'displayName eq "corp sales"',
    excludedAttributes: ['members'],
  },
  createScimUser: {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    externalId: '8f14e45f',
    userName: 'jane@corp.example.com',
    name: { givenName: 'Jane', familyName: 'Doe' },
    emails: [{ value: 'jane@corp.example.com', type: 'work', primary: true }],
    active: true,
  },
  replaceScimUser: {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName: 'jane@corp.example.com',
    displayName: 'Jane Doe',
    active: true,
  },
  patchScimUser: {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: [{ op: 'replace', path: 'active', value: false }],
  },
  createScimGroup: {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
    externalId: 'c20ad4d7',
    displayName: 'corp sales',
    members: [],
  },
  replaceScimGroup: {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
    displayName: 'corp sales and marketing',
    members: [],
  },
  patchScimGroup: {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: [{ op: 'add', path: 'members', value: [{ value: exampleId('user') }] }],
  },
  createDirectorySource: {
    provider: 'corp',
    kind: 'keycloak',
    issuer: 'https://login.example.com/realms/people',
    client_id: 'holdfast-sync',
    credential: 'from Keycloak',
  },
  updateDirectorySource: {
    enabled: true,
    issuer: 'https://login.example.com/realms/people',
    client_id: 'holdfast-sync',
    credential: 'from Keycloak',
    interval_minutes: 30,
    users: 'in_groups',
    groups: { take: 'listed', names: ['/engineering', '/engineering/*'] },
  },
  runDirectorySource: { dry_run: true },
  runKeycloakSync: { dry_run: true },
  runIdpSync: { dry_run: true },
  cancelDirectoryRun: { reason: 'the directory is being repaired' },
  createSiemConnector: {
    kind: 'syslog_tls',
    name: 'security operations',
    format: 'json',
    enabled: false,
    host: 'syslog.example.com',
    port: 6514,
  },
  updateSiemConnector: {
    name: 'security operations',
    enabled: false,
    format: 'ocsf',
    host: 'syslog.example.com',
    port: 6514,
    index: null,
    username: null,
    tls: { ca_pem: null, server_name: null },
  },
  replaySiemConnector: { from_seq: 1 },
  setAsideSiemEvent: { seq: 1 },
  ...settingsExamples,
  generateToken: { name: 'laptops of engineering', max_uses: 10 },
  revokeToken: { reason: 'was posted in a chat' },
  enroll: { device: { name: "Jane's laptop", platform: 'linux' } },
  beginDeviceCode: { provider_id: 'idp_01jxz3c9dqf7vr2m8k4s6t0b5w' },
  enrollByDeviceCode: { device: { name: 'build-server', platform: 'linux' } },
  enrollByOidc: {
    provider_id: exampleId('identity_provider'),
    id_token: 'eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl',
    device: { name: "Jane's phone", platform: 'ios' },
  },
  beginEnrollmentBySaml: {
    provider_id: exampleId('identity_provider'),
    redirect_uri: 'http://127.0.0.1:49152/callback',
  },
  enrollBySaml: {
    request_id: 'hfr_…',
    saml_response: 'PHNhbWxwOlJlc3BvbnNlIOKApg==',
    device: { name: "Jane's laptop", platform: 'linux' },
  },
  renewCredential: { os_version: '24.04' },
  changeDevice: { operation: 'suspend', device_id, reason: 'lost' },
  changeDevices: { operation: 'suspend', device_ids: [device_id], reason: 'lost' },
  reportPosture: { facts: { 'os.version': '24.04', 'disk.encrypted': true } },
  publishPolicy: { channel: 'stable', policy, note: 'SSH for laptops' },
  validatePolicy: { policy },
  replayPolicy: { policy, days: 7 },
  simulatePolicy: { policy, questions: [{ device_id, target: '10.1.2.3:tcp/22' }] },
  explainPolicy: { device_id, target: '10.1.2.3:tcp/22' },
  whoReaches: { target: '10.1.2.3:tcp/22', policy },
  createIdentityProvider: {
    name: 'Example login',
    kind: 'keycloak',
    enabled: false,
    oidc: { issuer: 'https://login.example.com/realms/people', client_id: 'holdfast', client_secret: 'from Keycloak' },
  },
  updateIdentityProvider: {
    name: 'Example login',
    enabled: true,
    sign_in: true,
    enrollment: false,
    requires_approval: false,
    max_devices_per_user: null,
    provisioning: 'create',
    claims: { username: 'preferred_username', email: 'email', display_name: 'name', groups: 'groups' },
    group_mappings: [{ value: '/engineering', group_id }],
    role_mappings: [{ value: '/auditors', role: 'auditor' }],
    oidc: {
      issuer: 'https://login.example.com/realms/people',
      client_id: 'holdfast',
      scopes: ['openid', 'profile', 'email'],
      mobile_client_ids: [],
      device_code: 'off',
    },
  },
  linkUserIdentity: { provider_id, subject: '248289761001', reason: 'the account of their department' },
  unlinkUserIdentity: { provider_id, subject: '248289761001', reason: 'left the department' },
  backchannelLogout: { logout_token: 'eyJhbGciOiJSUzI1NiIsInR5cCI6ImxvZ291dCtqd3QifQ.e30.c2lnbmF0dXJl' },
  createGatewayPool: { name: 'frankfurt', region: { code: 'eu' } },
  updateGatewayPool: {
    name: 'frankfurt-1',
    region: { code: 'eu' },
    protocol: 'wireguard',
    selection: 'latency',
    enabled: true,
    capacity: 5000,
    health_threshold: 1,
    nat: 'routed',
    mtu: 1380,
    dns: ['10.0.0.53'],
    fail_mode: 'closed',
    lifetime_seconds: 900,
    requires_approval: false,
  },
  createGateway: { name: 'fra-1', endpoints: [{ host: 'fra-1.example.com', port: 51820, proto: 'udp' }] },
  updateGateway: { name: 'fra-2', endpoints: [], public_key: null, weight: 50 },
  drainGateway: { draining: true, reason: 'maintenance' },
  approveGateway: { public_key: 'HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=' },
  identifyGateway: {
    public_key: 'HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=',
    listen_port: 51820,
    endpoints: [{ host: 'fra-1.example.com', port: 51820, proto: 'udp' }],
    version: '1.4.0',
    capabilities: ['nftables'],
  },
  heartbeat: { boot_id: 'boot-1', active_sessions: 12 },
  metering: {
    report_id: 'report-1',
    boot_id: 'boot-1',
    sequence: 1,
    interval_start: at,
    interval_end: at,
    samples: [
      {
        session_id: exampleId('vpn_session'),
        device_id,
        state: 'active',
        rx_bytes: 1024,
        tx_bytes: 2048,
        resources: [{ resource: 'wiki', rx_bytes: 320, tx_bytes: 1280 }],
      },
    ],
  },
  ingestAuditEvents: {
    events: [{ event_id: 'event-1', kind: 'gateway_report.config_changed', at, details: { file: 'nftables.conf' } }],
  },
  telemetry: { events: [{ event_id: 'event-1', kind: 'connected', at }] },
  terminateSessions: { operation: 'terminate', session_ids: [exampleId('vpn_session')], reason: 'maintenance' },
  createPolicyDraft: { name: 'wiki for everyone', text: '{"schema": "holdfast.policy/1", "rules": []}\n' },
  updatePolicyDraft: { name: 'wiki for everyone', text: '{"schema": "holdfast.policy/1", "rules": [', base: null },
  createRelease: { version: '1.4.0', channel: 'canary', notes: 'Faster reconnects.', severity: 'normal' },
  updateRelease: {
    notes: 'Faster reconnects.',
    notes_url: 'https://example.com/releases/1.4.0',
    severity: 'normal',
    mandatory: false,
    min_from_version: null,
  },
  changeRelease: { operation: 'pause', reason: 'reports of slow starts' },
  replaceTufRoot: {
    signed: {
      _type: 'root',
      spec_version: '1.0.31',
      version: 2,
      consistent_snapshot: true,
      expires: '2027-01-31T09:30:00Z',
      keys: { [keyid]: { keytype: 'ed25519', scheme: 'ed25519', keyval: { public: keyid } } },
      roles: { root: tufRole, targets: tufRole, snapshot: tufRole, timestamp: tufRole },
    },
    signatures: [{ keyid, sig: '3045' }],
  },
  updateRetention: {
    days: {
      audit: 365,
      vpn_sessions: 60,
      telemetry: 14,
      metering: null,
      admin_sessions: null,
      notifications: null,
      policy: null,
      enrollment_tokens: null,
      revoked_devices: null,
    },
  },
  placeLegalHold: { reason: 'proceedings 12-34', classes: ['vpn_sessions'], user_id },
  releaseLegalHold: { reason: 'settled' },
  updateNotificationSettings: {
    email: { enabled: false, recipients: ['security@example.com'], kinds: [], min_severity: 'info' },
    webhook: { enabled: false, kinds: [] },
  },
}
