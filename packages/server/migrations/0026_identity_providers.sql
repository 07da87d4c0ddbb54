-- Identity providers of a tenant, the accounts at them with which its users sign in, and sign-ins that are on their way.
create table identity_providers (
  tenant_id uuid not null references tenants,
  provider_id uuid not null,
  kind text not null
    constraint identity_provider_kind_is_known check (kind in ('oidc', 'keycloak', 'entra_id', 'okta')),
  name text not null,
  name_key text collate "C" generated always as (lower(name)) stored,
  enabled boolean not null,
  sign_in boolean not null,
  enrollment boolean not null,
  provisioning text not null
    constraint identity_provider_provisioning_is_known check (provisioning in ('none', 'create')),
  claims jsonb not null,
  role_mappings jsonb not null,
  oidc jsonb not null,
  client_secret_jwe text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, provider_id)
);
create unique index identity_provider_name_is_unique_in_its_tenant on identity_providers (tenant_id, name_key)
  where deleted_at is null;
create index identity_providers_by_creation on identity_providers (tenant_id, created_at, provider_id)
  where deleted_at is null;
call raise_tenant_wall('identity_providers');

-- What the groups claim of a provider says, and the group that it means here. Goes with its group.
create table identity_provider_groups (
  tenant_id uuid not null,
  provider_id uuid not null,
  value text not null,
  group_id uuid not null,
  primary key (tenant_id, provider_id, value, group_id),
  foreign key (tenant_id, provider_id) references identity_providers,
  foreign key (tenant_id, group_id) references groups on delete cascade
);
create index identity_provider_groups_by_group on identity_provider_groups (tenant_id, group_id);
call raise_tenant_wall('identity_provider_groups');

create table user_identities (
  tenant_id uuid not null,
  provider_id uuid not null,
  issuer text not null,
  subject text not null,
  user_id uuid not null,
  -- Whether the provider made the user, and so decides about the groups and roles that are mapped.
  provisioned boolean not null,
  linked_at timestamptz not null,
  last_login_at timestamptz,
  primary key (tenant_id, provider_id, issuer, subject),
  foreign key (tenant_id, provider_id) references identity_providers,
  foreign key (tenant_id, user_id) references users
);
create index user_identities_by_user on user_identities (tenant_id, user_id);
call raise_tenant_wall('user_identities');

-- A browser that was sent to a provider and has not come back. Consumed by whoever shows its state first.
create table sign_in_requests (
  tenant_id uuid not null references tenants,
  state_digest bytea not null,
  provider_id uuid not null,
  browser_digest bytea not null,
  nonce text not null,
  verifier_jwe text not null,
  next_path text,
  expires_at timestamptz not null,
  primary key (tenant_id, state_digest),
  foreign key (tenant_id, provider_id) references identity_providers
);
create index sign_in_requests_by_end on sign_in_requests (tenant_id, expires_at);
call raise_tenant_wall('sign_in_requests');

-- Sessions that a provider opened end with it.
alter table admin_sessions add column provider_id uuid;
create index admin_sessions_by_provider on admin_sessions (tenant_id, provider_id)
  where ended_at is null and provider_id is not null;
