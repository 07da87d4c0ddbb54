-- The address number of a revoked device is free again, for another device, a day after.
drop index device_address_is_unique;
create unique index device_address_is_unique on devices (tenant_id, address_number) where status <> 'revoked';
create table free_addresses (
  tenant_id uuid not null references tenants,
  address_number bigint not null,
  released_at timestamptz not null default now(),
  primary key (tenant_id, address_number)
);
create index free_addresses_by_release on free_addresses (tenant_id, released_at, address_number);
call raise_tenant_wall('free_addresses');
insert into free_addresses (tenant_id, address_number, released_at)
  select tenant_id, address_number, revoked_at from devices where status = 'revoked';

create index admin_sessions_ended on admin_sessions (tenant_id, ended_at) where ended_at is not null;
