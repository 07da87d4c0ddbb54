-- Of what administrators were warned that ends when, at which threshold (days before), and by which notification.
create table expiry_warnings (
  tenant_id uuid not null,
  type text not null,
  id text not null,
  ends_at timestamptz not null,
  days int not null,
  cause text not null,
  warned_at timestamptz not null,
  primary key (tenant_id, type, id, ends_at, days)
);
create index expiry_warnings_by_age on expiry_warnings (tenant_id, warned_at);
call raise_tenant_wall('expiry_warnings');

-- How many certificates in use end on which day is counted in an index.
create index spcs_in_use_by_end on spcs (tenant_id, not_after) where status = 'active';
