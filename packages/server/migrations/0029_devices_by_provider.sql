-- Which devices an identity provider has enrolled, in the order of their list.
create index devices_by_provider on devices (tenant_id, provider_id, enrolled_at, device_id)
  where provider_id is not null;
