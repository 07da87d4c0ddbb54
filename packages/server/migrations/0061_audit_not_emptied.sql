-- A trigger against truncate is of the table that it names alone, and each month of the record is a table of its own.
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
        if parent = 'audit_log' then
          execute format('create trigger audit_log_is_not_emptied before truncate on public.%I
            for each statement execute function refuse_to_change_the_record()', partition);
        end if;
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

do $$
declare
  partition regclass;
begin
  -- Months come and go under it.
  perform pg_advisory_xact_lock(7264404);
  for partition in
    select inhrelid::regclass from pg_inherits where inhparent = 'public.audit_log'::regclass order by inhrelid::regclass::text
  loop
    execute format('create trigger audit_log_is_not_emptied before truncate on %s
      for each statement execute function refuse_to_change_the_record()', partition);
  end loop;
end $$;
