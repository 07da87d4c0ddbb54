-- A tenant is deleted for good: a clock that leapt decides that no more than what is purged.
create or replace function refuse_while_on_hold() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
begin
  perform admit_purge();
  if is_on_hold(old.tenant_id) then
    raise exception 'a legal hold keeps the tenant' using errcode = 'insufficient_privilege';
  end if;
  if time_to_purge() is null then
    raise exception 'the clock is not trusted' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;

-- What is distrusted for long already, after a restore for a week, is trusted no sooner because the clock is off, too.
create or replace function check_clock(witness timestamptz) returns timestamptz language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  moment timestamptz := clock_timestamp();
  clock retention_clock;
  leap interval;
begin
  insert into retention_clock (seen_at, trusted_from) values (moment, '-infinity') on conflict do nothing;
  select * into clock from retention_clock for update;
  moment := clock_timestamp();
  leap := greatest(moment - clock.seen_at, clock.seen_at - moment);
  if moment > clock.seen_at + interval '3 days' or moment < clock.seen_at - interval '10 minutes'
    or witness not between moment - interval '10 minutes' and moment + interval '10 minutes' then
    clock.trusted_from := greatest(clock.trusted_from, moment + greatest(leap, interval '1 day'));
  end if;
  -- Also from before a clock was put back: nothing is waited for longer than that.
  clock.trusted_from := least(clock.trusted_from, moment + interval '30 days');
  update retention_clock set seen_at = moment, trusted_from = clock.trusted_from;
  return nullif(clock.trusted_from, '-infinity');
end $$;

-- What a tenant is limited and billed by is no data of its own: it goes by the days of the deployment, whatever the
-- tenant set for metering, and never within the month that is still added up.
create function usage_begins(moment timestamptz) returns timestamptz language sql stable as $$
  select least(moment - make_interval(days => p.days), date_trunc('month', moment, 'UTC'))
  from retention_periods p where p.class = 'metering'
$$;

-- What a tenant keeps for less goes by it, and is counted by it; the kind is for who asks who was connected.
create index telemetry_by_time on telemetry_events (tenant_id, at, kind);
drop index telemetry_of_connections;

-- One month a call, whose table is locked until the end of the transaction. Whoever calls comes again until none is left.
create or replace function drop_partitions(parent text) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set lock_timeout = '500ms' as $$
declare
  name text := case parent when 'vpn_sessions' then 'vpn_sessions' when 'telemetry_events' then 'telemetry'
    when 'metering_reports' then 'metering' end;
  older_than timestamptz;
  partition text;
  is_held boolean;
begin
  if name is null then
    raise exception 'partitions of % are not dropped', parent;
  end if;
  perform admit_purge();
  perform pg_advisory_xact_lock(7264404);
  select time_to_purge() - make_interval(days => days) into older_than
    from retention_periods where class = name and settles_at <= now();
  for partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = format('public.%I', parent)::regclass and c.relname ~ '_\d{4}_\d{2}$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= older_than at time zone 'utc'
    order by 1
  loop
    execute format('select exists (select from legal_holds h where covers(h, $1)
      and exists (select from public.%I p where p.tenant_id = h.tenant_id))', partition) into is_held using name;
    continue when is_held;
    execute format('insert into retention_purges (tenant_id, class, purged_at, up_to, unrecorded_months)
      select t.tenant_id, $1, clock_timestamp(), $2, array[$3] from tenants t
      where t.deleted_at is null and exists (select from public.%I p where p.tenant_id = t.tenant_id)
      on conflict on constraint retention_purges_pkey do update set purged_at = excluded.purged_at,
        up_to = greatest(retention_purges.up_to, excluded.up_to),
        unrecorded_months = retention_purges.unrecorded_months || excluded.unrecorded_months', partition)
      using name, older_than, right(partition, 7);
    execute format('drop table public.%I', partition);
    return 1;
  end loop;
  return 0;
end $$;

create or replace function drop_purged_months() returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set lock_timeout = '500ms' as $$
declare
  partition text;
  has_rows boolean;
begin
  perform pg_advisory_xact_lock(7264404);
  for partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'public.audit_log'::regclass and c.relname ~ '_\d{4}_\d{2}$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month'
        <= (select max(up_to) from retention_purges where class = 'audit') at time zone 'utc'
    order by 1
  loop
    execute format('select exists (select from public.%I)', partition) into has_rows;
    continue when has_rows;
    -- An event that comes late may be on its way into it.
    execute format('lock table public.%I in access exclusive mode', partition);
    execute format('select exists (select from public.%I)', partition) into has_rows;
    continue when has_rows;
    execute format('drop table public.%I', partition);
    return 1;
  end loop;
  return 0;
end $$;

-- Of places that all lie ahead, however many, the first behind them says.
create or replace function purge_audit(at_once integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  tenant uuid := current_tenant();
  older_than timestamptz;
  first bigint;
  last bigint;
  cut bigint;
  are_ahead boolean;
  gone integer;
begin
  if tenant is null then
    raise exception 'a purge is of one tenant';
  end if;
  perform admit_purge();
  if not pg_try_advisory_xact_lock(7264491, hashtext(tenant::text)) then
    return 0;
  end if;
  older_than := over_before('audit');
  first := audit_begins_after(tenant) + 1;
  select max(seq) filter (where sequenced_at < older_than and not is_behind), max(seq), bool_and(sequenced_at > now())
    into cut, last, are_ahead from (
    select seq, sequenced_at, bool_or(sequenced_at between older_than and now()) over (order by seq) as is_behind
    from (select seq, sequenced_at from audit_log where tenant_id = tenant and seq >= first order by seq
      limit least(at_once, 5000)) as oldest) as judged;
  if are_ahead and older_than > (select sequenced_at from audit_log
    where tenant_id = tenant and seq > last and sequenced_at <= now() order by seq limit 1) then
    cut := last;
  end if;
  if cut is null then
    return 0;
  end if;
  insert into audit_beginnings (tenant_id, seq, hash)
    select l.tenant_id, l.seq, l.hash from audit_log l where l.tenant_id = tenant and l.seq = cut
    on conflict (tenant_id) do update set seq = excluded.seq, hash = excluded.hash;
  delete from audit_log where tenant_id = tenant and seq between first and cut;
  get diagnostics gone = row_count;
  return gone;
end $$;

-- Of VPN sessions the oldest is the one that ended first, as they are kept from their end.
create or replace function measure_kept(class text, out n bigint, out bytes bigint, out is_estimate boolean,
  out oldest timestamptz) language plpgsql as $$
declare
  tbl text := case class when 'audit' then 'audit_log' when 'telemetry' then 'telemetry_events'
    when 'metering' then 'metering_reports' when 'policy' then 'policy_bundles' when 'revoked_devices' then 'devices'
    else class end;
  moment text := case class when 'audit' then 'sequenced_at' when 'telemetry' then 'at'
    when 'metering' then 'interval_end' when 'vpn_sessions' then 'ended_at' when 'notifications' then 'created_at'
    when 'admin_sessions' then 'ended_at' when 'policy' then 'published_at' when 'enrollment_tokens' then 'created_at'
    when 'revoked_devices' then 'revoked_at' end;
  those text := format('where tenant_id = %L', current_tenant()) || case class when 'revoked_devices'
    then ' and revoked_at is not null' when 'admin_sessions' then ' and ended_at is not null' else '' end;
  plan json;
begin
  if moment is null then
    raise exception 'there is no class %', class;
  end if;
  execute format('select count(*) from (select from public.%I %s limit 10001) as counted', tbl, those) into n;
  execute format('explain (format json) select * from public.%I %s', tbl, those) into plan;
  is_estimate := n > 10000;
  if is_estimate then
    n := greatest(n, (plan #>> '{0,Plan,Plan Rows}')::bigint);
  end if;
  -- A row has a head of 28 bytes and, in indexes, about as much again as its columns.
  bytes := n * (2 * (plan #>> '{0,Plan,Plan Width}')::bigint + 28);
  if class = 'audit' then
    execute format('select sequenced_at from public.audit_log %s and seq > audit_begins_after(%L) order by seq limit 1',
      those, current_tenant()) into oldest;
  else
    execute format('select min(%I) from public.%I %s', moment, tbl, those) into oldest;
  end if;
end $$;

-- Whether a hold keeps all classes of this tenant, for what has no class and is evidence all the same.
create function is_all_held() returns boolean language sql stable as $$
  select exists (select from legal_holds h
    where h.tenant_id = current_tenant() and stands(h) and cardinality(h.classes) = 0)
$$;
