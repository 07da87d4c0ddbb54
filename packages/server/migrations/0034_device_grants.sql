-- Device authorization grants (RFC 8628) that this deployment runs at identity providers for machines that enroll.
create table device_grants (
  tenant_id uuid not null references tenants,
  -- The digest of the challenge that the machine began with, and the thumbprint of its key.
  ticket bytea not null,
  jkt text not null,
  provider_id uuid not null,
  -- The address it came from, as addresses are counted.
  source text not null,
  state text not null constraint device_grant_state_is_known
    check (state in ('starting', 'pending', 'authorized', 'ended')),
  end_reason text,
  -- While it is pending, what it is redeemed with; once it is authorized, who that was.
  secret_jwe text,
  interval_seconds integer not null,
  next_poll_at timestamptz not null,
  -- Whoever asks the provider just now, until next_poll_at.
  poller uuid,
  expires_at timestamptz not null,
  primary key (tenant_id, ticket),
  foreign key (tenant_id, provider_id) references identity_providers,
  constraint device_grant_that_goes_on_has_a_secret check ((secret_jwe is not null) = (state in ('pending', 'authorized'))),
  constraint device_grant_that_ended_says_why check ((end_reason is not null) = (state = 'ended'))
);
create index device_grants_by_end on device_grants (tenant_id, expires_at);
create index device_grants_by_source on device_grants (tenant_id, source, expires_at);
create index device_grants_by_provider on device_grants (tenant_id, provider_id);
call raise_tenant_wall('device_grants');
