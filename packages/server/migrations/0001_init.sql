-- Everything of a tenant carries tenant_id first in its primary key, unique keys and foreign keys.
-- The application acts as holdfast_app, which owns nothing and can't pass the tenant wall (row-level security).

do $$ begin
  create role holdfast_app nologin nosuperuser nobypassrls;
exception when duplicate_object or unique_violation then null;
end $$;
do $$ begin
  execute format('grant holdfast_app to %I', current_user);
end $$;
grant usage on schema public to holdfast_app;

-- The tenant of the running transaction; null, which matches no row, when none was set.
create function current_tenant() returns uuid language sql stable parallel safe as
  $$ select nullif(nullif(current_setting('holdfast.tenant', true), ''), '*')::uuid $$;
-- Set by the few named functions that must look across tenants: sign-in, credential look-up, fleet-wide sweeps.
create function across_tenants() returns boolean language sql stable parallel safe as
  $$ select coalesce(current_setting('holdfast.tenant', true), '') = '*' $$;

create procedure raise_tenant_wall(tbl regclass) language plpgsql as $$
begin
  execute format('alter table %s enable row level security', tbl);
  execute format('create policy tenant_wall on %s using ((select across_tenants()) or tenant_id = (select current_tenant()))', tbl);
  execute format('grant select, insert, update, delete on %s to holdfast_app', tbl);
end $$;

create table tenants (
  tenant_id uuid primary key,
  name text not null,
  canary_salt bytea not null,
  created_at timestamptz not null default now(),
  constraint tenant_name_is_unique unique (name)
);
call raise_tenant_wall('tenants');

-- What an administrator set; what is absent has the default of the code.
create table tenant_settings (
  tenant_id uuid primary key references tenants,
  security jsonb not null default '{}',
  updated_at timestamptz not null default now()
);
call raise_tenant_wall('tenant_settings');

-- One row a tenant, locked last in every transaction that changes what devices or gateways must know, so that
-- sequence numbers become visible in order and without gaps.
create table tenant_epochs (
  tenant_id uuid primary key references tenants,
  seq bigint not null default 0,
  policy_version bigint not null default 0,
  addresses bigint not null default 0
);
call raise_tenant_wall('tenant_epochs');

create table changes (
  tenant_id uuid not null references tenants,
  seq bigint not null,
  kind text not null,
  subject uuid not null,
  at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, seq, kind, subject)
);
create index changes_by_age on changes (at);
call raise_tenant_wall('changes');

create table users (
  tenant_id uuid not null references tenants,
  user_id uuid not null,
  username text not null,
  email text,
  display_name text not null default '',
  status text not null default 'active' constraint user_status_is_known check (status in ('active', 'suspended')),
  source text not null default 'local' constraint user_source_is_known check (source in ('local', 'directory', 'sso')),
  password_phc text,
  failed_logins integer not null default 0,
  locked_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_login_at timestamptz,
  deleted_at timestamptz,
  primary key (tenant_id, user_id)
);
create unique index username_is_unique_in_its_tenant on users (tenant_id, lower(username)) where deleted_at is null;
create index users_by_creation on users (tenant_id, created_at, user_id);
call raise_tenant_wall('users');

create table user_roles (
  tenant_id uuid not null,
  user_id uuid not null,
  role text not null,
  granted_at timestamptz not null default now(),
  primary key (tenant_id, user_id, role),
  foreign key (tenant_id, user_id) references users
);
call raise_tenant_wall('user_roles');

create table groups (
  tenant_id uuid not null references tenants,
  group_id uuid not null,
  name text not null,
  description text not null default '',
  source text not null default 'local' constraint group_source_is_known check (source in ('local', 'directory')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, group_id)
);
create unique index group_name_is_unique_in_its_tenant on groups (tenant_id, lower(name));
create index groups_by_creation on groups (tenant_id, created_at, group_id);
call raise_tenant_wall('groups');

create table group_members (
  tenant_id uuid not null,
  group_id uuid not null,
  user_id uuid not null,
  primary key (tenant_id, group_id, user_id),
  foreign key (tenant_id, group_id) references groups on delete cascade,
  foreign key (tenant_id, user_id) references users
);
create index group_members_by_user on group_members (tenant_id, user_id, group_id);
call raise_tenant_wall('group_members');

create table admin_sessions (
  tenant_id uuid not null,
  session_id uuid not null,
  user_id uuid not null,
  secret_digest bytea not null,
  auth_method text not null,
  source_ip text,
  user_agent text,
  started_at timestamptz not null,
  last_seen_at timestamptz not null,
  idle_seconds integer not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  end_reason text constraint session_ends_for_a_known_reason check (end_reason in ('timeout', 'manual')),
  primary key (tenant_id, session_id),
  foreign key (tenant_id, user_id) references users,
  constraint session_ends_with_a_reason check ((ended_at is null) = (end_reason is null))
);
create index admin_sessions_by_secret on admin_sessions (secret_digest);
create index admin_sessions_by_user on admin_sessions (tenant_id, user_id) where ended_at is null;
create index admin_sessions_running on admin_sessions (last_seen_at) where ended_at is null;
call raise_tenant_wall('admin_sessions');

create table api_keys (
  tenant_id uuid not null references tenants,
  key_id uuid not null,
  lookup text not null,
  secret_digest bytea not null,
  hint text not null,
  name text not null,
  role text not null,
  allowed_cidrs text[] not null default '{}',
  created_by text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, key_id)
);
create index api_keys_by_lookup on api_keys (lookup);
create index api_keys_by_creation on api_keys (tenant_id, created_at, key_id);
call raise_tenant_wall('api_keys');

-- Written in batches, apart from what decides.
create table api_key_activity (
  tenant_id uuid not null,
  key_id uuid not null,
  last_used_at timestamptz not null,
  primary key (tenant_id, key_id),
  foreign key (tenant_id, key_id) references api_keys
);
call raise_tenant_wall('api_key_activity');

create table enrollment_tokens (
  tenant_id uuid not null references tenants,
  token_id uuid not null,
  lookup text not null,
  secret_digest bytea not null,
  hint text not null,
  name text not null default '',
  kind text not null constraint token_kind_is_known check (kind in ('enroll', 'bootstrap')),
  max_uses integer not null constraint max_uses_is_not_negative check (max_uses >= 0),
  uses integer not null default 0,
  expires_at timestamptz not null,
  user_id uuid,
  group_ids uuid[] not null default '{}',
  tags text[] not null default '{}',
  platforms text[] not null default '{}',
  allowed_cidrs text[] not null default '{}',
  requires_approval boolean not null default false,
  ephemeral_seconds integer,
  max_devices_per_user integer,
  created_by text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, token_id),
  foreign key (tenant_id, user_id) references users,
  constraint token_is_not_used_more_than_allowed check (max_uses = 0 or uses <= max_uses)
);
create index enrollment_tokens_by_lookup on enrollment_tokens (lookup);
create index enrollment_tokens_by_creation on enrollment_tokens (tenant_id, created_at, token_id);
create index enrollment_tokens_by_expiry on enrollment_tokens (tenant_id, expires_at, token_id);
call raise_tenant_wall('enrollment_tokens');

create table devices (
  tenant_id uuid not null references tenants,
  device_id uuid not null,
  user_id uuid,
  name text not null,
  platform text not null,
  os_version text,
  client_version text,
  serial text,
  tags text[] not null default '{}',
  group_ids uuid[] not null default '{}',
  status text not null constraint device_status_is_known check (status in ('pending', 'active', 'suspended', 'revoked')),
  channel text not null default 'auto' constraint device_channel_is_known check (channel in ('auto', 'canary', 'stable')),
  jkt text,
  public_jwk jsonb,
  wireguard_public_key text,
  address_number bigint not null,
  generation integer not null default 1,
  previous_generation_until timestamptz,
  previous_jkt text,
  credential_expires_at timestamptz not null,
  credential_renew_after timestamptz not null,
  enrolled_method text not null,
  token_id uuid,
  ephemeral_seconds integer,
  enrolled_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  revoked_at timestamptz,
  primary key (tenant_id, device_id),
  foreign key (tenant_id, user_id) references users,
  foreign key (tenant_id, token_id) references enrollment_tokens,
  constraint revocation_has_a_time check ((status = 'revoked') = (revoked_at is not null))
);
create unique index device_key_is_used_by_one_device on devices (tenant_id, jkt) where status <> 'revoked';
create unique index device_address_is_unique on devices (tenant_id, address_number);
create index devices_by_enrollment on devices (tenant_id, enrolled_at, device_id);
create index devices_by_name on devices (tenant_id, lower(name), device_id);
create index devices_by_user on devices (tenant_id, user_id) where user_id is not null;
create index devices_by_token on devices (tenant_id, token_id) where token_id is not null;
call raise_tenant_wall('devices');

create table device_activity (
  tenant_id uuid not null,
  device_id uuid not null,
  last_seen_at timestamptz,
  applied_digest text,
  applied_at timestamptz,
  primary key (tenant_id, device_id),
  foreign key (tenant_id, device_id) references devices
);
call raise_tenant_wall('device_activity');

create table device_postures (
  tenant_id uuid not null,
  device_id uuid not null,
  facts jsonb not null,
  facts_digest text not null,
  verdict text not null constraint verdict_is_known check (verdict in ('compliant', 'non_compliant', 'unknown')),
  reported_at timestamptz not null,
  valid_until timestamptz,
  primary key (tenant_id, device_id),
  foreign key (tenant_id, device_id) references devices
);
create index device_postures_by_end on device_postures (valid_until) where valid_until is not null;
call raise_tenant_wall('device_postures');

create table policy_bundles (
  tenant_id uuid not null references tenants,
  bundle_id uuid not null,
  version bigint not null,
  seq bigint not null,
  channel text not null constraint policy_channel_is_known check (channel in ('canary', 'stable')),
  digest text not null,
  previous_digest text,
  document jsonb not null,
  resolution jsonb not null,
  note text not null default '',
  published_by text,
  published_at timestamptz not null default now(),
  rollout_percent numeric(5, 2) not null default 0,
  rollout_group_ids uuid[] not null default '{}',
  rollout_device_ids uuid[] not null default '{}',
  tests jsonb not null,
  impact jsonb not null,
  primary key (tenant_id, version)
);
create unique index policy_bundle_id_is_unique on policy_bundles (tenant_id, bundle_id);
call raise_tenant_wall('policy_bundles');

create table policy_channels (
  tenant_id uuid not null references tenants,
  channel text not null,
  version bigint not null,
  primary key (tenant_id, channel),
  foreign key (tenant_id, version) references policy_bundles
);
call raise_tenant_wall('policy_channels');

create table policy_variants (
  tenant_id uuid not null references tenants,
  digest text not null,
  version bigint not null,
  bundle text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, digest)
);
create index policy_variants_by_expiry on policy_variants (expires_at);
call raise_tenant_wall('policy_variants');

create table gateway_pools (
  tenant_id uuid not null references tenants,
  pool_id uuid not null,
  name text not null,
  region jsonb not null,
  protocol text not null constraint pool_protocol_is_known check (protocol in ('wireguard', 'ipsec', 'openvpn')),
  selection text not null constraint pool_selection_is_known check (selection in ('latency', 'geo', 'weighted')),
  enabled boolean not null default true,
  capacity integer,
  address_cidrs text[] not null default '{}',
  health_threshold integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, pool_id)
);
create unique index pool_name_is_unique_in_its_tenant on gateway_pools (tenant_id, lower(name));
create index gateway_pools_by_creation on gateway_pools (tenant_id, created_at, pool_id);
call raise_tenant_wall('gateway_pools');

create table gateways (
  tenant_id uuid not null,
  gateway_id uuid not null,
  pool_id uuid not null,
  name text not null,
  endpoints jsonb not null default '[]',
  public_key text,
  weight integer not null default 100,
  draining boolean not null default false,
  drain_reason text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- A deleted gateway remembers its pool without keeping it from being deleted.
  live_pool_id uuid generated always as (case when deleted_at is null then pool_id end) stored,
  primary key (tenant_id, gateway_id),
  foreign key (tenant_id, live_pool_id) references gateway_pools
);
create unique index gateway_name_is_unique_in_its_tenant on gateways (tenant_id, lower(name)) where deleted_at is null;
create index gateways_by_pool on gateways (tenant_id, pool_id, created_at, gateway_id);
call raise_tenant_wall('gateways');

-- At most two rows a gateway are valid: the newest, and the one before it until its end.
create table gateway_secrets (
  tenant_id uuid not null,
  gateway_id uuid not null,
  secret_id uuid not null,
  lookup text not null,
  secret_digest bytea not null,
  created_at timestamptz not null default now(),
  valid_until timestamptz,
  primary key (tenant_id, gateway_id, secret_id),
  foreign key (tenant_id, gateway_id) references gateways
);
create index gateway_secrets_by_lookup on gateway_secrets (lookup);
call raise_tenant_wall('gateway_secrets');

create table gateway_activity (
  tenant_id uuid not null,
  gateway_id uuid not null,
  boot_id text,
  version text,
  active_sessions bigint not null default 0,
  rx_bps bigint not null default 0,
  tx_bps bigint not null default 0,
  applied_policy_digest text,
  applied_policy_seq bigint,
  applied_trust_version bigint,
  applied_at timestamptz,
  last_seen_at timestamptz not null,
  primary key (tenant_id, gateway_id),
  foreign key (tenant_id, gateway_id) references gateways
);
call raise_tenant_wall('gateway_activity');

create table vpn_sessions (
  tenant_id uuid not null,
  session_id uuid not null,
  device_id uuid not null,
  user_id uuid,
  gateway_id uuid not null,
  pool_id uuid not null,
  state text not null constraint vpn_session_state_is_known check (state in ('active', 'ended')),
  started_at timestamptz not null,
  last_seen_at timestamptz not null,
  ended_at timestamptz,
  end_reason text,
  source_ip text,
  assigned_ip text,
  protocol text not null,
  client_version text,
  auth_method text not null,
  policy_digest text,
  posture_verdict text not null,
  rx_bytes bigint not null default 0,
  tx_bytes bigint not null default 0,
  primary key (tenant_id, session_id),
  foreign key (tenant_id, device_id) references devices,
  foreign key (tenant_id, gateway_id) references gateways,
  constraint session_end_has_a_time check ((state = 'ended') = (ended_at is not null))
);
create index vpn_sessions_by_start on vpn_sessions (tenant_id, started_at, session_id);
create index vpn_sessions_active on vpn_sessions (tenant_id, started_at, session_id) where state = 'active';
create index vpn_sessions_by_device on vpn_sessions (tenant_id, device_id) where state = 'active';
create index vpn_sessions_by_user on vpn_sessions (tenant_id, user_id) where state = 'active';
create index vpn_sessions_by_gateway on vpn_sessions (tenant_id, gateway_id) where state = 'active';
create index vpn_sessions_silent on vpn_sessions (last_seen_at) where state = 'active';
-- Ended from here, not by their gateway: what a gateway that missed it must still be told.
create index vpn_sessions_cut on vpn_sessions (tenant_id, ended_at)
  where end_reason in ('admin', 'revoked', 'suspended');
call raise_tenant_wall('vpn_sessions');

create table signing_keys (
  tenant_id uuid not null references tenants,
  signer_id uuid not null,
  kid text not null,
  purpose text not null,
  alg text not null,
  state text not null
    constraint signer_state_is_known check (state in ('pending', 'active', 'retiring', 'retired', 'compromised')),
  public_jwk jsonb not null,
  private_jwe text not null,
  certificate text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, signer_id),
  constraint signer_kid_is_unique_in_its_tenant unique (tenant_id, kid)
);
create unique index one_active_signer_for_a_purpose on signing_keys (tenant_id, purpose) where state = 'active';
call raise_tenant_wall('signing_keys');

create table trust_sets (
  tenant_id uuid not null references tenants,
  version bigint not null,
  document jsonb not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, version)
);
call raise_tenant_wall('trust_sets');

create table audit_events (
  tenant_id uuid not null,
  event_id uuid not null,
  at timestamptz not null,
  kind text not null,
  outcome text not null constraint outcome_is_known check (outcome in ('success', 'refused', 'failed')),
  actor_type text not null,
  actor_id text,
  actor_name text,
  target_type text,
  target_id text,
  target_name text,
  source_ip text,
  user_agent text,
  request_id text,
  origin text not null,
  fields jsonb not null default '{}',
  changes jsonb,
  details jsonb,
  primary key (tenant_id, at, event_id)
) partition by range (at);
create index audit_events_by_kind on audit_events (tenant_id, kind, at, event_id);
create index audit_events_by_actor on audit_events (tenant_id, actor_id, at, event_id);
create index audit_events_by_target on audit_events (tenant_id, target_id, at, event_id);
create index audit_events_by_request on audit_events (tenant_id, request_id) where request_id is not null;
call raise_tenant_wall('audit_events');
-- Append-only for the application.
revoke update, delete on audit_events from holdfast_app;

create table metering_reports (
  tenant_id uuid not null,
  interval_end timestamptz not null,
  gateway_id uuid not null,
  boot_id text not null,
  sequence bigint not null,
  report_id text not null,
  interval_start timestamptz not null,
  samples integer not null,
  rx_bytes bigint not null,
  tx_bytes bigint not null,
  received_at timestamptz not null default now(),
  primary key (tenant_id, interval_end, gateway_id, boot_id, sequence)
) partition by range (interval_end);
create index metering_reports_by_sequence on metering_reports (tenant_id, gateway_id, boot_id, sequence);
call raise_tenant_wall('metering_reports');

create table telemetry_events (
  tenant_id uuid not null,
  at timestamptz not null,
  device_id uuid not null,
  event_id text not null,
  session_id text,
  kind text not null,
  gateway_id uuid,
  latency_ms double precision,
  loss_percent double precision,
  reason text,
  policy_digest text,
  received_at timestamptz not null default now(),
  primary key (tenant_id, at, device_id, event_id)
) partition by range (at);
call raise_tenant_wall('telemetry_events');

-- The month of `at` and its neighbours exist before anything is written; called at start and every day.
create procedure ensure_partitions(moment timestamptz) language plpgsql security definer set search_path = public as $$
declare
  parent text;
  month timestamp;
begin
  foreach parent in array array['audit_events', 'metering_reports', 'telemetry_events'] loop
    for month in
      select generate_series(date_trunc('month', moment at time zone 'utc') - interval '1 month',
                             date_trunc('month', moment at time zone 'utc') + interval '2 months', interval '1 month')
    loop
      execute format('create table if not exists %I partition of %I for values from (%L) to (%L)',
        parent || to_char(month, '_YYYY_MM'), parent, month at time zone 'utc', (month + interval '1 month') at time zone 'utc');
    end loop;
  end loop;
end $$;
revoke all on procedure ensure_partitions(timestamptz) from public;
grant execute on procedure ensure_partitions(timestamptz) to holdfast_app;

-- What follows belongs to no tenant.

create table proofs_seen (
  proof bytea primary key,
  expires_at timestamptz not null
);
create index proofs_seen_by_expiry on proofs_seen (expires_at);
grant select, insert, delete on proofs_seen to holdfast_app;

create table login_failures (
  source text primary key,
  window_start timestamptz not null,
  failures integer not null
);
grant select, insert, update, delete on login_failures to holdfast_app;

create table idempotency_keys (
  tenant_id uuid not null references tenants,
  principal text not null,
  key text not null,
  fingerprint bytea not null,
  answer_jwe text,
  created_at timestamptz not null default now(),
  primary key (tenant_id, principal, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
call raise_tenant_wall('idempotency_keys');
