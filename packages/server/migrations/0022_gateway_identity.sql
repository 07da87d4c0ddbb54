-- What gateways say of themselves, and how the gateways of a pool serve. `address_cidrs` of a pool is read by nobody from
-- here on: a device has one pair of addresses in the whole overlay of its tenant. The column goes with a later release,
-- since the one before this one writes it.
alter table gateway_pools
  add column nat text not null default 'masquerade' constraint pool_nat_is_known check (nat in ('masquerade', 'routed')),
  add column mtu integer not null default 1420,
  add column dns text[] not null default '{}',
  add column fail_mode text not null default 'closed' constraint pool_fail_mode_is_known check (fail_mode in ('closed', 'open')),
  add column lifetime_seconds integer not null default 900,
  add column requires_approval boolean not null default false;
alter table gateways
  add column listen_port integer,
  add column version text,
  add column capabilities text[] not null default '{}',
  -- Announced by the gateway, not yet in force.
  add column proposed_key text;
create unique index gateway_key_is_proposed_by_one_gateway on gateways (tenant_id, proposed_key) where deleted_at is null;
