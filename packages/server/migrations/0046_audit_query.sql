-- One event by its id. Ids grow with time, so that this index grows at its end alone.
create index audit_log_by_id on audit_log (tenant_id, event_id);

-- What a gateway has reported under an id of its own is on record once.
create table audit_ingested (
  tenant_id uuid not null,
  gateway_id uuid not null,
  event_id text collate "C" not null,
  received_at timestamptz not null,
  primary key (tenant_id, gateway_id, event_id)
);
-- For forgetting them.
create index audit_ingested_by_time on audit_ingested (tenant_id, received_at);
call raise_tenant_wall('audit_ingested');
revoke update on audit_ingested from holdfast_app;
