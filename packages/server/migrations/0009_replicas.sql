-- What writes are tried with, by each replica of its own accord.
create table replicas (
  replica_id uuid primary key,
  seen_at timestamptz not null
);
grant select, insert, update, delete on replicas to holdfast_app;

-- Replicas that start at once take turns; nothing that a caller made can stand in for what is named here.
create or replace procedure ensure_partitions(moment timestamptz) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  parent text;
  month timestamp;
begin
  perform pg_advisory_xact_lock(7264404);
  foreach parent in array array['audit_events', 'metering_reports', 'telemetry_events'] loop
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
