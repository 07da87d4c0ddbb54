/** Who writes a table: a module, or another folder of `src`. Nobody else does, but by their functions. */
export const owners: Readonly<Record<string, string>> = {
  tenants: 'tenancy',
  plans: 'tenancy',
  licenses: 'tenancy',
  deployment: 'tenancy',
  entitlement_counters: 'tenancy',
  entitlement_moves: 'tenancy',
  entitlement_alerts: 'tenancy',
  usage_levels: 'tenancy',
  usage_traffic: 'tenancy',
  tenant_settings: 'tenancy',
  tenant_epochs: 'memory',
  changes: 'memory',
  idempotency_keys: 'db',
  replicas: 'health',
  audit_events: 'audit',
  api_keys: 'access',
  api_key_activity: 'access',
  users: 'identity',
  user_roles: 'identity',
  user_totp: 'identity',
  recovery_codes: 'identity',
  groups: 'identity',
  deleted_groups: 'identity',
  group_members: 'identity',
  admin_sessions: 'identity',
  login_failures: 'identity',
  identity_providers: 'federation',
  identity_provider_groups: 'federation',
  user_identities: 'federation',
  sign_in_requests: 'federation',
  saml_requests: 'federation',
  saml_assertions: 'federation',
  logout_tokens: 'federation',
  device_grants: 'federation',
  notifications: 'notifications',
  notification_deliveries: 'notifications',
  notification_settings: 'notifications',
  signing_keys: 'trust',
  trust_sets: 'trust',
  devices: 'devices',
  device_tags: 'devices',
  device_groups: 'devices',
  device_activity: 'devices',
  device_postures: 'devices',
  free_addresses: 'devices',
  proofs_seen: 'devices',
  policy_bundles: 'policy',
  policy_channels: 'policy',
  policy_variants: 'policy',
  gateway_pools: 'gateways',
  deleted_pools: 'gateways',
  gateways: 'gateways',
  gateway_secrets: 'gateways',
  gateway_activity: 'gateways',
  vpn_sessions: 'gateways',
  metering_reports: 'gateways',
  telemetry_events: 'gateways',
  enrollment_tokens: 'enrollment',
  directories: 'directory',
  directory_runs: 'directory',
  directory_run_contents: 'directory',
  directory_windows: 'directory',
  directory_sources: 'directory',
  directory_pulls: 'directory',
  directory_pages: 'directory',
  update_repositories: 'updates',
  releases: 'updates',
  release_packages: 'updates',
  package_blobs: 'updates',
  tuf_metadata: 'updates',
}

/** Counters of a tenant that are taken where they are used, in columns of their own. */
export const alsoWrites: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  tenancy: { tenant_epochs: 'makes the row of a new tenant, and takes it away with the tenant' },
  policy: { tenant_epochs: 'policy_version' },
  devices: { tenant_epochs: 'addresses' },
}

/** What a module reads of others, and what for. This list only shrinks. */
export const alsoReads: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  access: { users: 'the owner of a key', user_roles: 'what the owner may do' },
  identity: { tenants: 'holds the tenant while administrators change' },
  devices: {
    users: 'whether the user of a device is suspended',
    group_members: 'the groups of its user',
    tenant_epochs: 'the number of what was read',
  },
  policy: {
    users: 'names in documents',
    groups: 'names in documents',
    group_members: 'of users that a document asks about',
    devices: 'names in documents',
    device_activity: 'what devices have applied',
    device_postures: 'whose reports grow old',
    gateway_pools: 'names in documents',
    tenants: 'the salt of its canary',
    tenant_epochs: 'the number of what was read',
  },
  gateways: {
    devices: 'whose session it is',
    device_postures: 'the verdict as the session began',
    changes: 'what a delta tells',
  },
  directory: { tenants: 'whether it is open' },
  enrollment: { users: 'whether the user may enroll', devices: 'how many the user has' },
}

/** Whether a statement of a file of `src` (`modules/` left out) may touch the table. */
export function mayTouch(origin: string, table: string, how: 'reads' | 'writes'): boolean {
  const room = origin.split('/')[0] ?? ''
  if (owners[table] === room || table in (alsoWrites[room] ?? {})) return true
  // What prunes and pages any table is handed it by its owner.
  if (room === 'db' || (how === 'reads' && table in (alsoReads[room] ?? {}))) return true
  return false
}
