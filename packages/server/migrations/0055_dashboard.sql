-- How many events of a kind each hour had, counted as they get their places: what is charted of the record is read
-- here, and costs the same however long the record is.
create table audit_counts (
  tenant_id uuid not null,
  hour timestamptz not null,
  kind text collate "C" not null,
  outcome text not null constraint counted_outcome_is_known check (outcome in ('success', 'refused', 'failed')),
  events bigint not null,
  primary key (tenant_id, hour, kind, outcome)
);
call raise_tenant_wall('audit_counts');
-- Counted by what comes into the record alone.
revoke insert, update on audit_counts from holdfast_app;

create function count_events() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into audit_counts as c (tenant_id, hour, kind, outcome, events)
    select tenant_id, date_trunc('hour', at, 'utc'), kind, outcome, count(*) from placed
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_id, hour, kind, outcome) do update set events = c.events + excluded.events;
  return null;
end $$;
create trigger events_are_counted after insert on audit_log referencing new table as placed
  for each statement execute function count_events();

-- What charts show of the time before this version. Nothing gets its place meanwhile: the trigger holds the table.
insert into audit_counts (tenant_id, hour, kind, outcome, events)
  select tenant_id, date_trunc('hour', at, 'utc'), kind, outcome, count(*) from audit_log
  where at > now() - interval '31 days' group by 1, 2, 3, 4;

-- Alerts that are open are counted by how bad they are.
create index notifications_open_by_severity on notifications (tenant_id, severity) where acknowledged_at is null;
