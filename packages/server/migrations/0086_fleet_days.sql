-- Devices by platform and client version, once a day. Each list is bounded where it is counted.
create table fleet_days (
  tenant_id uuid not null references tenants,
  day timestamptz not null,
  devices bigint not null,
  platforms jsonb not null,
  client_versions jsonb not null,
  other_client_versions bigint not null,
  primary key (tenant_id, day)
);
call raise_tenant_wall('fleet_days');
