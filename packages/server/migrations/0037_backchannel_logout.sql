-- Of a session that an identity provider opened: the account there, and the provider's own session (`sid`) where it says.
alter table admin_sessions
  add column provider_subject text,
  add column provider_sid text;

-- Logout tokens that have counted, for as long as they could be brought again; and whom they ended, for whoever is on
-- the way back from the provider meanwhile.
create table logout_tokens (
  tenant_id uuid not null,
  provider_id uuid not null,
  jti_digest bytea not null,
  subject text,
  sid text,
  issued_at timestamptz not null,
  good_until timestamptz not null,
  primary key (tenant_id, provider_id, jti_digest),
  foreign key (tenant_id, provider_id) references identity_providers,
  constraint logout_token_names_somebody check (subject is not null or sid is not null)
);
create index logout_tokens_by_end on logout_tokens (tenant_id, good_until);
call raise_tenant_wall('logout_tokens');
