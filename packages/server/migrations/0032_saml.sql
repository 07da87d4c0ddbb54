-- Identity providers of SAML 2.0: what is set of one, and what was read at the address of its metadata.
alter table identity_providers
  drop constraint identity_provider_kind_is_known,
  add constraint identity_provider_kind_is_known check (kind in ('oidc', 'keycloak', 'entra_id', 'okta', 'saml')),
  alter column oidc drop not null,
  add column saml jsonb,
  add column saml_found jsonb,
  add column saml_checked_at timestamptz,
  add column saml_problem text,
  add constraint identity_provider_has_the_settings_of_its_kind
    check ((kind = 'saml') = (saml is not null) and (kind = 'saml') = (oidc is null));

-- Somebody who was sent to a provider and has not come back: the browser of an administrator, or the person who
-- enrolls a device.
create table saml_requests (
  tenant_id uuid not null references tenants,
  state_digest bytea not null,
  provider_id uuid not null,
  authn_request_id text not null,
  browser_digest bytea,
  next_path text,
  challenge_digest bytea,
  jkt text,
  redirect_uri text,
  expires_at timestamptz not null,
  primary key (tenant_id, state_digest),
  foreign key (tenant_id, provider_id) references identity_providers,
  constraint saml_request_is_of_a_browser_or_of_a_device check (
    (browser_digest is null) = (challenge_digest is not null)
    and (browser_digest is null) = (jkt is not null)
    and (browser_digest is null) = (redirect_uri is not null))
);
create index saml_requests_by_end on saml_requests (tenant_id, expires_at);
call raise_tenant_wall('saml_requests');

-- Assertions that have counted, for as long as they could be brought again.
create table saml_assertions (
  tenant_id uuid not null,
  provider_id uuid not null,
  assertion_id text not null,
  good_until timestamptz not null,
  primary key (tenant_id, provider_id, assertion_id),
  foreign key (tenant_id, provider_id) references identity_providers
);
create index saml_assertions_by_end on saml_assertions (tenant_id, good_until);
call raise_tenant_wall('saml_assertions');
