import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { startKit } from '../kit.ts'
import { races } from './races.ts'

/** Things that another test tries with many at once: its file, and words that stand in it. */
const elsewhere: Record<string, readonly [file: string, words: string]> = {
  'a username': ['api/sets.test.ts', 'a username, however it is spelled'],
  'a mail address': ['api/sets.test.ts', 'a mail address'],
  'the name of a group': ['api/sets.test.ts', 'the name of a group'],
  'a role of a user': ['api/sets.test.ts', 'a role given'],
  'a one-time code': ['api/totp.test.ts', 'of many who show one code at once, on two replicas, one gets in'],
  'a recovery code': ['api/sets.test.ts', 'a recovery code'],
  'failures of an account': ['api/lockout.test.ts', 'lock the account exactly once'],
  'failures of a source': ['api/lockout.test.ts', 'a source with too many failures waits, on every replica'],
  'how many a plan allows': [
    'api/entitlement.test.ts',
    'of 60 who enroll at once, on two replicas, against a limit of 10 exactly 10 are let in',
  ],
  'what a tenant carried': [
    'api/usage.test.ts',
    'metering reports that are replayed, reordered and late: usage is equal to the byte',
  ],
  'a metering report': ['api/metering.test.ts', 'twenty sends of one report at once count once'],
  'the bytes of a session': ['api/metering.test.ts', 'different reports of one session at once all count'],
  'the answer to a sign-in': [
    'api/sign-in-by-provider.test.ts',
    'of twenty who bring the same answer, on two replicas, one is signed in',
  ],
  'a response of SAML': [
    'api/sign-in-by-saml.test.ts',
    'of twenty who post the same response, on two replicas, one is signed in',
  ],
  'a logout token': [
    'api/backchannel-logout.test.ts',
    'of twenty who bring one logout token, on two replicas, one is believed',
  ],
  'a device grant, and who asks the provider about it': [
    'api/enroll-device-code-limits.test.ts',
    'of twenty who ask at once on two replicas one asks the provider, and of twenty who finish one enrolls',
  ],
  'a telemetry event': [
    'api/telemetry.test.ts',
    'an event counts once, within a request and across requests, on every replica',
  ],
  'a directory, its entries and its runs': [
    'api/directory-sync-safety.test.ts',
    'twenty snapshots at once on two replicas',
  ],
  'what a directory takes away within an hour': [
    'api/scim-safety.test.ts',
    'of twenty removals at once on two replicas no more are made than may be',
  ],
  'a source of a directory, and its pull': [
    'api/directory-pull.test.ts',
    'twenty who ask at once, on two replicas, get one run',
  ],
  'a key of a certificate': ['api/spc.test.ts', 'a key has one certificate, and is nobody else'],
  'a rotation of a certificate': ['api/spc.test.ts', 'of twenty rotations one is made'],
  'a revocation, and the list that says so': ['api/spc.test.ts', 'twenty revoke one: it is revoked once'],
  'a key that is to follow another': ['api/trust-rotation.test.ts', 'of twenty at once one is made'],
  'a rotation of trust anchors': ['api/trust-rotation.test.ts', 'of twenty who do so on two replicas one does'],
  'what several first starts say of their master keys': [
    'faults/master-keys.test.ts',
    'of twenty starts at once, with different lines, each key has one version',
  ],
  'a warning of an end': ['api/expiry-warnings.test.ts', 'once at each threshold, on two replicas'],
  'a version that is released': [
    'api/updates.test.ts',
    'of twenty who publish, halt or create one version at once, on two replicas, one does',
  ],
  'a package, and its content': [
    'api/updates-uploads.test.ts',
    'of twenty uploads of one content at once, on two replicas, all are packages and one is stored',
  ],
  'a version of TUF metadata': [
    'api/updates-tuf.test.ts',
    'every version is given out once and says no less than the one before',
  ],
  'what a first start makes': [
    'faults/first-start.test.ts',
    'three first starts at once agree on one tenant and one administrator',
  ],
}

/** What needs no race: why. */
const reasons = {
  id: 'of a random id, or of the row that it stands beside',
  last: 'the last word holds, whoever had it',
  setting: 'what somebody chose; it counts nothing',
  own: 'written by who alone may: a replica about itself, whoever holds the claim, a migration',
} as const

/** Every unique index and every whole number in the schema: the thing that is tried, or a reason. */
const schema: Record<string, string> = {
  username_is_unique_in_its_tenant: 'a username',
  email_is_unique_in_its_tenant: 'a mail address',
  group_name_is_unique_in_its_tenant: 'the name of a group',
  user_roles_pkey: 'a role of a user',
  grant_id_is_unique: 'id',
  group_members_pkey: 'a membership, and how many a group has',
  'groups.member_count': 'a membership, and how many a group has',
  user_totp_pkey: 'id',
  'user_totp.last_step': 'a one-time code',
  recovery_codes_pkey: 'a recovery code',
  'users.failed_logins': 'failures of an account',
  login_failures_pkey: 'failures of a source',
  'login_failures.failures': 'failures of a source',
  'enrollment_tokens.uses': 'the uses of an enrollment token',
  'enrollment_tokens.max_uses': 'the uses of an enrollment token',
  'enrollment_tokens.max_devices_per_user': 'the devices of a user',
  'identity_providers.max_devices_per_user': 'the devices of a user',
  'enrollment_tokens.ephemeral_seconds': 'setting',
  device_key_is_used_by_one_device: 'a device key',
  wireguard_key_is_used_by_one_device: 'a WireGuard key of a device',
  device_address_is_unique: 'an overlay address',
  free_addresses_pkey: 'an overlay address',
  'free_addresses.address_number': 'an overlay address',
  'devices.address_number': 'an overlay address',
  'tenant_epochs.addresses': 'an overlay address',
  'devices.generation': 'a generation of a device credential',
  'devices.ephemeral_seconds': 'setting',
  proofs_seen_pkey: 'a proof of a key on a change',
  gateway_secrets_pkey: 'the new secret of a gateway',
  gateway_secrets_by_lookup: 'id',
  gateway_name_is_unique_in_its_tenant: 'the name of a gateway',
  gateway_key_is_used_by_one_gateway: 'the key of a gateway',
  gateway_key_is_proposed_by_one_gateway: 'a key that gateways announce',
  pool_name_is_unique_in_its_tenant: 'the name of a pool',
  identity_provider_name_is_unique_in_its_tenant: 'the name of an identity provider',
  user_identities_pkey: 'an account at an identity provider',
  sign_in_requests_pkey: 'the answer to a sign-in',
  saml_requests_pkey: 'a response of SAML',
  saml_assertions_pkey: 'a response of SAML',
  logout_tokens_pkey: 'a logout token',
  device_grants_pkey: 'a device grant, and who asks the provider about it',
  'device_grants.interval_seconds': 'a device grant, and who asks the provider about it',
  identity_provider_groups_pkey: 'id',
  idempotency_keys_pkey: 'a change under an Idempotency-Key',
  one_open_notification_of_a_cause: 'an open notification of one cause',
  notifications_pkey: 'an acknowledgement',
  notification_deliveries_pkey: 'id',
  'notification_deliveries.attempts': 'own',
  expiry_warnings_pkey: 'a warning of an end',
  'expiry_warnings.days': 'a warning of an end',
  policy_bundles_pkey: 'a version of the policy',
  'policy_bundles.version': 'a version of the policy',
  'policy_bundles.seq': 'a number of the change log',
  'tenant_epochs.policy_version': 'a version of the policy',
  policy_bundle_id_is_unique: 'id',
  policy_channels_pkey: 'a version of the policy',
  'policy_channels.version': 'a version of the policy',
  policy_variants_pkey: 'last',
  'policy_variants.version': 'last',
  changes_pkey: 'a number of the change log',
  'changes.seq': 'a number of the change log',
  'tenant_epochs.seq': 'a number of the change log',
  metering_reports_pkey: 'a metering report',
  'metering_reports.sequence': 'a metering report',
  'metering_reports.samples': 'setting',
  'metering_reports.rx_bytes': 'setting',
  'metering_reports.tx_bytes': 'setting',
  'vpn_sessions.rx_bytes': 'the bytes of a session',
  'vpn_sessions.tx_bytes': 'the bytes of a session',
  telemetry_events_pkey: 'a telemetry event',
  tenant_name_is_unique: 'the name of a tenant',
  plans_pkey: 'id',
  plan_name_is_unique: 'the name of a plan',
  licenses_pkey: 'own',
  deployment_pkey: 'own',
  master_keys_pkey: 'what several first starts say of their master keys',
  master_key_is_known_once: 'what several first starts say of their master keys',
  'master_keys.version': 'what several first starts say of their master keys',
  'master_keys.sealed': 'own',
  'master_keys.digests': 'own',
  'admin_sessions.secret_digest_version': 'own',
  'api_keys.secret_digest_version': 'own',
  'enrollment_tokens.secret_digest_version': 'own',
  'gateway_secrets.secret_digest_version': 'own',
  'recovery_codes.code_digest_version': 'own',
  entitlement_counters_pkey: 'how many a plan allows',
  'entitlement_counters.used': 'how many a plan allows',
  entitlement_moves_pkey: 'how many a plan allows',
  'entitlement_moves.move_id': 'id',
  'entitlement_moves.delta': 'how many a plan allows',
  entitlement_alerts_pkey: 'own',
  usage_levels_pkey: 'own',
  'usage_levels.peak': 'own',
  'usage_levels.used': 'own',
  usage_traffic_pkey: 'what a tenant carried',
  'usage_traffic.rx_bytes': 'what a tenant carried',
  'usage_traffic.tx_bytes': 'what a tenant carried',
  'usage_traffic.sessions': 'what a tenant carried',
  one_active_signer_for_a_purpose: 'what a first start makes',
  one_pending_signer_for_a_purpose: 'a key that is to follow another',
  signer_kid_is_unique_in_its_tenant: 'id',
  cross_certificates_pkey: 'a rotation of trust anchors',
  spcs_pkey: 'a rotation of a certificate',
  spc_key_is_unique_in_its_tenant: 'a key of a certificate',
  'spcs.policy_version': 'setting',
  crls_pkey: 'a revocation, and the list that says so',
  'crls.number': 'a revocation, and the list that says so',
  'crls.revision': 'a revocation, and the list that says so',
  'crls.issued_revision': 'a revocation, and the list that says so',
  'device_activity.trust_version': 'last',
  trust_sets_pkey: 'what a first start makes',
  'trust_sets.version': 'what a first start makes',
  api_keys_pkey: 'the end of an API key',
  enrollment_tokens_pkey: 'the end of an enrollment token',
  devices_pkey: 'the end of a device',
  admin_sessions_by_secret: 'id',
  admin_sessions_pkey: 'id',
  'admin_sessions.idle_seconds': 'setting',
  api_key_activity_pkey: 'last',
  api_keys_by_lookup: 'id',
  audit_events_pkey: 'id',
  deleted_groups_pkey: 'id',
  deleted_pools_pkey: 'id',
  device_activity_pkey: 'last',
  device_groups_pkey: 'id',
  device_postures_pkey: 'last',
  device_tags_pkey: 'id',
  enrollment_tokens_by_lookup: 'id',
  gateway_activity_pkey: 'last',
  'gateway_activity.active_sessions': 'last',
  'gateway_activity.applied_policy_seq': 'last',
  'gateway_activity.applied_trust_version': 'last',
  'vpn_sessions.rx_packets': 'the bytes of a session',
  'vpn_sessions.tx_packets': 'the bytes of a session',
  'vpn_sessions.denied_packets': 'the bytes of a session',
  'vpn_sessions.source_port': 'last',
  'gateway_activity.rx_bps': 'last',
  'gateway_activity.tx_bps': 'last',
  gateway_pools_pkey: 'id',
  identity_providers_pkey: 'the end of an identity provider',
  'gateway_pools.capacity': 'setting',
  'gateway_pools.health_threshold': 'setting',
  'gateway_pools.mtu': 'setting',
  'gateway_pools.lifetime_seconds': 'setting',
  'gateways.listen_port': 'setting',
  gateways_pkey: 'id',
  'gateways.weight': 'setting',
  groups_pkey: 'id',
  notification_settings_pkey: 'last',
  replicas_pkey: 'own',
  schema_migrations_pkey: 'own',
  'schema_migrations.version': 'own',
  signing_keys_pkey: 'id',
  tenant_epochs_pkey: 'id',
  tenant_settings_pkey: 'id',
  tenants_pkey: 'id',
  users_pkey: 'id',
  directories_pkey: 'id',
  directory_name_is_unique_in_its_tenant: 'a directory, its entries and its runs',
  directory_runs_pkey: 'id',
  snapshot_is_taken_once: 'a directory, its entries and its runs',
  directory_run_contents_pkey: 'id',
  directory_windows_pkey: 'what a directory takes away within an hour',
  'directory_windows.had': 'what a directory takes away within an hour',
  'directory_windows.removed': 'what a directory takes away within an hour',
  'directory_runs.problem_count': 'own',
  external_id_is_unique_in_its_directory: 'a directory, its entries and its runs',
  group_external_id_is_unique_in_its_directory: 'a directory, its entries and its runs',
  directory_sources_pkey: 'id',
  directory_has_one_source: 'a source of a directory, and its pull',
  directory_pulls_pkey: 'a source of a directory, and its pull',
  directory_pages_pkey: 'own',
  'directory_pages.page': 'own',
  'directory_pulls.pages': 'own',
  'directory_sources.interval_minutes': 'setting',
  'directory_sources.failures': 'own',
  vpn_session_is_there_once: 'id',
  update_repositories_pkey: 'id',
  releases_pkey: 'id',
  release_version_is_unique_in_its_tenant: 'a version that is released',
  package_blobs_pkey: 'id',
  'package_blobs.size': 'setting',
  package_content_is_stored_once: 'a package, and its content',
  release_packages_pkey: 'id',
  package_is_there_once_in_its_release: 'a package, and its content',
  tuf_metadata_pkey: 'a version of TUF metadata',
  'tuf_metadata.version': 'a version of TUF metadata',
}

test('what there is once or so often, of twenty who want it at once on two replicas', async (t: TestContext) => {
  const kit = await startKit(t, { replicas: 2 })
  for (const [thing, race] of Object.entries(races)) {
    const { won, of } = await race(kit)
    assert.equal(won, of, thing)
  }
  t.diagnostic(`${Object.keys(races).length} things here, ${Object.keys(elsewhere).length} in tests of their own`)

  const { rows } = await kit.db.acrossTenants((tx) =>
    sql<{ name: string }>`
      select i.relname as name from pg_index x
        join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
        where x.indisunique and c.relnamespace = 'public'::regnamespace and not c.relispartition
      union
      select c.relname || '.' || a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and a.attnum > 0 and not a.attisdropped and a.atttypid in ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
      order by 1`.execute(tx),
  )
  const found = rows.map((row) => row.name)
  assert.deepEqual(
    {
      unnamed: found.filter((name) => !(name in schema)),
      gone: Object.keys(schema).filter((name) => !found.includes(name)),
    },
    { unnamed: [], gone: [] },
    'a unique index or a number in the schema says which race tries it, or why none has to',
  )
  const known = new Set([...Object.keys(races), ...Object.keys(elsewhere), ...Object.keys(reasons)])
  assert.deepEqual(
    Object.entries(schema).filter(([, by]) => !known.has(by)),
    [],
  )
  for (const [file, words] of Object.values(elsewhere)) {
    const source = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
    assert.ok(source.includes(words), `${file} has no "${words}" any more`)
  }
})
