-- When a gateway was last silent for longer than a report may be late, and since when it enforces its policy's number.
alter table gateway_activity
  add column silent_from timestamptz,
  add column heard_again_at timestamptz,
  add column applied_seq_at timestamptz;

-- The recorded state of each gateway: whoever moves it writes the change, so that of two replicas one does.
create table gateway_states (
  tenant_id uuid not null,
  gateway_id uuid not null,
  state text not null check (state in ('healthy', 'degraded', 'draining', 'down', 'never_seen', 'pending')),
  since timestamptz not null,
  primary key (tenant_id, gateway_id),
  foreign key (tenant_id, gateway_id) references gateways
);
call raise_tenant_wall('gateway_states');

-- One row for each change. The state before it is kept too, so that old rows can go.
create table gateway_state_changes (
  tenant_id uuid not null,
  gateway_id uuid not null,
  at timestamptz not null,
  previous_state text,
  state text not null,
  primary key (tenant_id, gateway_id, at),
  foreign key (tenant_id, gateway_id) references gateways
);
create index gateway_state_changes_by_time on gateway_state_changes (tenant_id, at);
call raise_tenant_wall('gateway_state_changes');

-- The most sessions that a gateway reported at once, hour by hour.
create table gateway_hours (
  tenant_id uuid not null,
  gateway_id uuid not null,
  hour timestamptz not null,
  sessions_most bigint not null,
  primary key (tenant_id, gateway_id, hour),
  foreign key (tenant_id, gateway_id) references gateways
);
create index gateway_hours_by_time on gateway_hours (tenant_id, hour);
call raise_tenant_wall('gateway_hours');
