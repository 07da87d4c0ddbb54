-- When the tenant was last taken past every number that it may have given out and does not know of: numbers of what is
-- signed (trust sets, metadata of updates) go on from what this time comes to (`kernel/fence.ts`).
alter table tenant_epochs add column fenced_at timestamptz;

-- A backup reads every table for as long as it takes. A partition that is made as one waits for it, with everybody else
-- behind; one that is made beside its table and attached does not. Only where there is a partition for the rest, of
-- sessions that run, that one is locked: a month that is not there yet is given up soon, and made on another day.
create or replace procedure ensure_partitions(moment timestamptz) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  parent text;
  month timestamp;
  partition text;
  patience text := current_setting('lock_timeout');
begin
  perform pg_advisory_xact_lock(7264404);
  foreach parent in array array['audit_log', 'metering_reports', 'telemetry_events', 'vpn_sessions'] loop
    for month in
      select generate_series(date_trunc('month', moment at time zone 'utc') - interval '1 month',
                             date_trunc('month', moment at time zone 'utc') + interval '2 months', interval '1 month')
    loop
      partition := parent || to_char(month, '_YYYY_MM');
      continue when to_regclass(format('public.%I', partition)) is not null;
      begin
        perform set_config('lock_timeout', '500ms', true);
        execute format('create table public.%I (like public.%I including all)', partition, parent);
        execute format('alter table public.%I attach partition public.%I for values from (%L) to (%L)',
          parent, partition, month at time zone 'utc', (month + interval '1 month') at time zone 'utc');
        perform set_config('lock_timeout', patience, true);
      exception when lock_not_available then
        if month = date_trunc('month', now() at time zone 'utc') then
          raise;
        end if;
      end;
    end loop;
  end loop;
end $$;
