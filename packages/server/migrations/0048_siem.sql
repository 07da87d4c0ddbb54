-- Where the record of a tenant is forwarded to, how far that is, and what receivers refused.

create table siem_connectors (
  tenant_id uuid not null references tenants,
  connector_id uuid not null,
  name text not null,
  kind text not null constraint siem_kind_is_known
    check (kind in ('syslog_tls', 'syslog_tcp', 'webhook', 'splunk_hec', 'opensearch')),
  format text not null constraint siem_format_is_known check (format in ('json', 'ocsf', 'cef')),
  enabled boolean not null,
  -- Where it leads and how that is reached: url, host, port, index, username, tls.
  destination jsonb not null,
  credential_jwe text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, connector_id)
);
create unique index siem_connector_name_is_unique on siem_connectors (tenant_id, lower(name)) where deleted_at is null;
create index siem_connectors_by_creation on siem_connectors (tenant_id, created_at, connector_id)
  where deleted_at is null;
call raise_tenant_wall('siem_connectors');

-- A part of the record on its way to a connector: all that comes, under the connector's own id, or an export. One
-- replica at a time sends, who has the lease; whatever it says of how far it came is under its lease, so one that
-- stalled and was replaced changes nothing any more.
create table siem_streams (
  tenant_id uuid not null,
  stream_id uuid not null,
  connector_id uuid not null,
  -- Of an export: events that happened from then to then. Its places are null until they are known.
  from_at timestamptz,
  to_at timestamptz,
  after_seq bigint,
  until_seq bigint,
  events bigint,
  state text not null constraint siem_stream_state_is_known
    check (state in ('flowing', 'stopped', 'parked', 'finished', 'failed')),
  problem text,
  -- Dead letters wait to be sent again.
  replays boolean not null default false,
  -- Attempts that failed in a row, and since when; events that were refused in a row.
  failures integer not null default 0,
  failing_since timestamptz,
  refused_in_a_row integer not null default 0,
  delivered bigint not null default 0,
  failed bigint not null default 0,
  dead bigint not null default 0,
  -- Events that were never taken and are on record no more; and the furthest place it was ever at.
  lost bigint not null default 0,
  furthest_seq bigint not null default 0,
  last_delivered_at timestamptz,
  -- Nothing is sent before.
  due_at timestamptz not null default now(),
  lease uuid,
  leased_until timestamptz,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (tenant_id, stream_id),
  foreign key (tenant_id, connector_id) references siem_connectors
);
create index siem_streams_due on siem_streams (due_at) where state = 'flowing';
create index siem_streams_of_connector on siem_streams (tenant_id, connector_id);
create index siem_streams_finished on siem_streams (tenant_id, finished_at) where finished_at is not null;
create unique index siem_export_is_on_its_way_once on siem_streams (tenant_id, connector_id, from_at, to_at)
  where from_at is not null and finished_at is null;
call raise_tenant_wall('siem_streams');

-- Events that a receiver refused while it took others. `dead` of the connector's stream is how many there are.
create table siem_dead_letters (
  tenant_id uuid not null,
  connector_id uuid not null,
  seq bigint not null,
  event_id uuid not null,
  kind text not null,
  reason text not null,
  failed_at timestamptz not null,
  replaying boolean not null default false,
  primary key (tenant_id, connector_id, seq),
  foreign key (tenant_id, connector_id) references siem_connectors
);
create index siem_dead_letters_to_replay on siem_dead_letters (tenant_id, connector_id, seq) where replaying;
create index siem_dead_letters_by_age on siem_dead_letters (tenant_id, failed_at);
call raise_tenant_wall('siem_dead_letters');
