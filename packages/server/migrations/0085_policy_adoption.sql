-- How far each published version had got over time; a point is written only where its figures differ from the last.
create table policy_adoption (
  tenant_id uuid not null,
  bundle_id uuid not null,
  at timestamptz not null,
  devices_applied bigint not null,
  devices_pending bigint not null,
  gateways_applied bigint not null,
  gateways_pending bigint not null,
  primary key (tenant_id, bundle_id, at),
  foreign key (tenant_id, bundle_id) references policy_bundles (tenant_id, bundle_id) on delete cascade
);
call raise_tenant_wall('policy_adoption');
