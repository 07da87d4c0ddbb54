-- VPN sessions: those that run lie in a partition of their own, those that ended in one for each month of their end, so
-- that a month is dropped whole. The end is still one guarded UPDATE, by which PostgreSQL moves the row; whoever waited
-- for it meanwhile loses (40001) and begins again.
alter table vpn_sessions rename to vpn_sessions_before;
do $$ declare name text; begin
  for name in select indexname from pg_indexes where schemaname = 'public' and tablename = 'vpn_sessions_before' loop
    execute format('alter index public.%I rename to %I', name, name || '_before');
  end loop;
end $$;
create table vpn_sessions (
  tenant_id uuid not null,
  session_id uuid not null,
  -- Its history outlives the device.
  device_id uuid not null,
  user_id uuid,
  gateway_id uuid not null,
  pool_id uuid not null,
  state text not null constraint vpn_session_state_is_known check (state in ('active', 'ended')),
  started_at timestamptz not null,
  last_seen_at timestamptz not null,
  ended_at timestamptz,
  end_reason text,
  source_ip text,
  assigned_ip text,
  protocol text not null,
  client_version text,
  auth_method text not null,
  policy_digest text,
  posture_verdict text not null,
  rx_bytes bigint not null default 0,
  tx_bytes bigint not null default 0,
  constraint vpn_session_is_of_a_gateway foreign key (tenant_id, gateway_id) references gateways,
  constraint session_end_has_a_time check ((state = 'ended') = (ended_at is not null))
) partition by range (ended_at);
create table vpn_sessions_running partition of vpn_sessions (constraint it_runs check (ended_at is null)) default;
-- Across partitions an id is there once because it is opened under a lock (`holdNewSessions`) where there is none of it.
create unique index vpn_session_is_there_once on vpn_sessions (tenant_id, session_id, ended_at) nulls not distinct;
create index vpn_sessions_by_start on vpn_sessions (tenant_id, started_at, session_id);
create index vpn_sessions_active on vpn_sessions (tenant_id, started_at, session_id) where state = 'active';
create index vpn_sessions_by_device on vpn_sessions (tenant_id, device_id, state, started_at, session_id);
create index vpn_sessions_by_user on vpn_sessions (tenant_id, user_id, state, started_at, session_id)
  where user_id is not null;
create index vpn_sessions_by_gateway on vpn_sessions (tenant_id, gateway_id, state, started_at, session_id);
create index vpn_sessions_by_pool on vpn_sessions (tenant_id, pool_id, state, started_at, session_id);
create index vpn_sessions_silent on vpn_sessions (last_seen_at) where state = 'active';
-- Ended from here, not by their gateway: what a gateway that missed it must still be told.
create index vpn_sessions_cut on vpn_sessions (tenant_id, ended_at)
  where end_reason in ('admin', 'revoked', 'suspended');
call raise_tenant_wall('vpn_sessions');

create or replace procedure ensure_partitions(moment timestamptz) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  parent text;
  month timestamp;
begin
  perform pg_advisory_xact_lock(7264404);
  foreach parent in array array['audit_events', 'metering_reports', 'telemetry_events', 'vpn_sessions'] loop
    for month in
      select generate_series(date_trunc('month', moment at time zone 'utc') - interval '1 month',
                             date_trunc('month', moment at time zone 'utc') + interval '2 months', interval '1 month')
    loop
      if to_regclass(format('public.%I', parent || to_char(month, '_YYYY_MM'))) is null then
        execute format('create table public.%I partition of public.%I for values from (%L) to (%L)',
          parent || to_char(month, '_YYYY_MM'), parent, month at time zone 'utc', (month + interval '1 month') at time zone 'utc');
      end if;
    end loop;
  end loop;
end $$;

-- Drops the months of a table that were over so many days ago, by the database's clock. Says how many.
create function drop_partitions(parent text, days integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  partition text;
  dropped integer := 0;
begin
  if parent not in ('metering_reports', 'telemetry_events', 'vpn_sessions') or days < 7 then
    raise exception 'partitions of % are not dropped after % days', parent, days;
  end if;
  perform pg_advisory_xact_lock(7264404);
  for partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = format('public.%I', parent)::regclass and c.relname ~ '_\d{4}_\d{2}$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= (now() - make_interval(days => days)) at time zone 'utc'
    order by 1
  loop
    execute format('drop table public.%I', partition);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
revoke all on function drop_partitions(text, integer) from public;
grant execute on function drop_partitions(text, integer) to holdfast_app;

do $$ declare month timestamptz; begin
  call ensure_partitions(now());
  for month in select distinct date_trunc('month', ended_at) from vpn_sessions_before where ended_at is not null loop
    call ensure_partitions(month);
  end loop;
end $$;
insert into vpn_sessions select * from vpn_sessions_before;
drop table vpn_sessions_before;

-- For what is forgotten after a time.
create index devices_revoked on devices (tenant_id, revoked_at) where revoked_at is not null;

-- How long a report is good for follows from the policy that holds now.
alter table device_postures drop column valid_until;
