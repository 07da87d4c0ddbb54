-- So that deleting a pool again is answered like deleting any other thing again.
create table deleted_pools (
  tenant_id uuid not null references tenants,
  pool_id uuid not null,
  deleted_at timestamptz not null,
  primary key (tenant_id, pool_id)
);
call raise_tenant_wall('deleted_pools');
