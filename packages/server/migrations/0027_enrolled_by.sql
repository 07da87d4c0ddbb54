-- Devices that a person enrolled by signing in at an identity provider.
alter table identity_providers
  add column requires_approval boolean not null default false,
  add column max_devices_per_user integer;

alter table devices add column provider_id uuid;
alter table devices add constraint devices_provider_is_there
  foreign key (tenant_id, provider_id) references identity_providers;
alter table devices
  add constraint enrollment_method_is_known check (enrolled_method in ('token', 'oidc', 'saml', 'device_code')),
  add constraint only_a_token_leaves_a_token check (token_id is null or enrolled_method = 'token'),
  add constraint only_a_provider_leaves_a_provider check ((provider_id is not null) = (enrolled_method <> 'token'));
