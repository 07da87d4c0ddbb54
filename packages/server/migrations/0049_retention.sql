-- How long each tenant keeps what, what may not go because a law or a court says so, and what has gone. What decides is
-- asked by the statement that purges, here, under a lock that a new hold waits for: nothing goes that a hold covers.

create table retention_settings (
  tenant_id uuid primary key references tenants,
  -- Class of data → days; a class that is absent is kept as long as the deployment says.
  days jsonb not null default '{}',
  -- Until then a change can be taken back before anything goes by it.
  settles_at timestamptz not null,
  updated_at timestamptz not null
);
call raise_tenant_wall('retention_settings');

create table legal_holds (
  tenant_id uuid not null references tenants,
  legal_hold_id uuid not null,
  reason text not null,
  -- Empty for all.
  classes text[] not null default '{}',
  user_id uuid,
  device_id uuid,
  subject_name text,
  placed_at timestamptz not null,
  placed_by_type text not null,
  placed_by_id text,
  placed_by_name text,
  released_at timestamptz,
  released_by_type text,
  released_by_id text,
  released_by_name text,
  release_reason text,
  primary key (tenant_id, legal_hold_id),
  constraint hold_is_of_one_subject check (user_id is null or device_id is null)
);
create index legal_holds_by_placing on legal_holds (tenant_id, placed_at, legal_hold_id);
create index legal_holds_standing on legal_holds (tenant_id, placed_at, legal_hold_id) where released_at is null;
call raise_tenant_wall('legal_holds');

-- What has gone of each class, and what of that is not on record yet: an interrupted purge is recorded by the next one.
create table retention_purges (
  tenant_id uuid not null,
  class text not null,
  purged_at timestamptz not null,
  -- All of the class that is older, and that no hold covers, has gone, or goes next.
  up_to timestamptz not null,
  purged bigint not null default 0,
  unrecorded bigint not null default 0,
  unrecorded_months text[] not null default '{}',
  primary key (tenant_id, class)
);
call raise_tenant_wall('retention_purges');

-- Where the record of a tenant begins since the purges of a day: the place that went last, and its hash, from which the
-- places after it are verified.
create table audit_purges (
  tenant_id uuid not null,
  purged_on date not null,
  up_to bigint not null,
  hash bytea not null constraint purged_hash_is_sha256 check (length(hash) = 32),
  events bigint not null,
  kept_days integer not null,
  -- What went got its place before this moment.
  before timestamptz not null,
  purged_at timestamptz not null,
  primary key (tenant_id, purged_on)
);
call raise_tenant_wall('audit_purges');
revoke insert, update, delete on audit_purges from holdfast_app;

-- Of the deployment: until when its clock is not trusted with what can not be undone.
create table retention_clock (
  there_is_one boolean primary key default true constraint there_is_one_clock check (there_is_one),
  seen_at timestamptz not null,
  trusted_from timestamptz not null
);
grant select on retention_clock to holdfast_app;

-- Before each purge. A clock that leapt by more than three days, went back, or is ten minutes off what the asking replica
-- has for the time purges nothing for as long as it leapt: a day at least, a month at most. Says until when.
create function check_clock(witness timestamptz) returns timestamptz language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  moment timestamptz := clock_timestamp();
  clock retention_clock;
  leap interval;
begin
  insert into retention_clock (seen_at, trusted_from) values (moment, '-infinity') on conflict do nothing;
  select * into clock from retention_clock for update;
  leap := greatest(moment - clock.seen_at, clock.seen_at - moment);
  if moment > clock.seen_at + interval '3 days' or moment < clock.seen_at - interval '10 minutes'
    or witness not between moment - interval '10 minutes' and moment + interval '10 minutes' then
    clock.trusted_from := moment + greatest(least(leap, interval '30 days'), interval '1 day');
  end if;
  update retention_clock set seen_at = moment, trusted_from = clock.trusted_from;
  return nullif(clock.trusted_from, '-infinity');
end $$;
revoke all on function check_clock(timestamptz) from public;
grant execute on function check_clock(timestamptz) to holdfast_app;

-- The time, for what purges; null while it is not trusted, or nobody has looked for days.
create function time_to_purge() returns timestamptz language sql stable as $$
  select now() from retention_clock
  where trusted_from <= now() and now() between seen_at - interval '10 minutes' and seen_at + interval '3 days'
$$;

-- Whoever purges holds this shared; a hold is placed under it alone, so that from its commit on everybody knows of it.
create function admit_purge() returns void language sql as $$ select pg_advisory_xact_lock_shared(7264490) $$;
create function stop_purges() returns void language sql as $$ select pg_advisory_xact_lock(7264490) $$;

-- How many days a tenant keeps of a class; null is for good. `usual` is what holds where it set nothing, `most` the
-- longest that the deployment lets it keep. What is younger than a week, or a month of the record, never goes.
create function kept_days(tenant uuid, class text, usual integer, most integer) returns integer language sql stable as $$
  select case when days is not null then greatest(days, case class when 'audit' then 30 else 7 end) end
  from (select least(coalesce((select (s.days ->> class)::integer from retention_settings s where s.tenant_id = tenant),
    usual), most) as days) as kept
$$;

create function covers(hold legal_holds, class text) returns boolean language sql immutable as $$
  select hold.released_at is null and (cardinality(hold.classes) = 0 or class = any(hold.classes))
$$;
-- A hold on a person or a device keeps what is theirs, where a row says whose it is, and everything of a class otherwise.
create function covers_all(hold legal_holds, class text) returns boolean language sql immutable as $$
  select covers(hold, class) and not (
    hold.user_id is not null and class in ('vpn_sessions', 'admin_sessions', 'revoked_devices')
    or hold.device_id is not null and class in ('vpn_sessions', 'telemetry', 'revoked_devices'))
$$;

-- What of this tenant is older may go. Null where nothing may: for good, held, set lately, or no trusted time.
create function over_before(class text, usual integer, most integer) returns timestamptz language sql stable as $$
  select time_to_purge() - make_interval(days => kept_days(current_tenant(), class, usual, most))
  where not exists (select from retention_settings s where s.tenant_id = current_tenant() and s.settles_at > now())
    and not exists (select from legal_holds h where h.tenant_id = current_tenant() and covers_all(h, class))
$$;

-- The same of what lies by months, which usually goes a month at a time: row by row only where the tenant keeps it for
-- less than the deployment does, or months stay because of a hold, of whichever tenant.
create function thin_before(class text, days integer) returns timestamptz language sql stable security definer
  set search_path = pg_catalog, public, pg_temp as $$
  select case
    when (select s.days ? class from retention_settings s where s.tenant_id = current_tenant())
      then over_before(class, days, days)
    when exists (select from legal_holds h where covers(h, class))
      then date_trunc('month', over_before(class, days, days), 'UTC')
  end
$$;
revoke all on function thin_before(text, integer) from public;
grant execute on function thin_before(text, integer) to holdfast_app;

create function held_users(class text) returns uuid[] language sql stable as $$
  select coalesce(array_agg(user_id), '{}') from legal_holds h
  where tenant_id = current_tenant() and user_id is not null and covers(h, class)
$$;
create function held_devices(class text) returns uuid[] language sql stable as $$
  select coalesce(array_agg(device_id), '{}') from legal_holds h
  where tenant_id = current_tenant() and device_id is not null and covers(h, class)
$$;
-- Whether anything of this tenant is held, for whoever erases tenants.
create function is_on_hold(tenant uuid) returns boolean language sql stable as $$
  select exists (select from legal_holds h where h.tenant_id = tenant and h.released_at is null)
$$;

-- A month goes once it is over for the tenant that keeps it longest, and nothing in it is of a tenant with a hold. `days`
-- is what the deployment says, beyond which no tenant keeps.
create or replace function drop_partitions(parent text, days integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set lock_timeout = '500ms' as $$
declare
  class text := case parent when 'vpn_sessions' then 'vpn_sessions' when 'telemetry_events' then 'telemetry'
    when 'metering_reports' then 'metering' end;
  moment timestamptz;
  longest integer;
  partition text;
  has_rows boolean;
  is_held boolean;
  tenant uuid;
  dropped integer := 0;
begin
  if class is null or days < 7 then
    raise exception 'partitions of % are not dropped after % days', parent, days;
  end if;
  perform admit_purge();
  perform pg_advisory_xact_lock(7264404);
  moment := time_to_purge();
  select coalesce(max(case when s.settles_at > now() then drop_partitions.days
      else kept_days(t.tenant_id, class, drop_partitions.days, drop_partitions.days) end), drop_partitions.days)
    into longest
    from tenants t left join retention_settings s using (tenant_id) where t.deleted_at is null;
  for partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = format('public.%I', parent)::regclass and c.relname ~ '_\d{4}_\d{2}$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month'
        <= (moment - make_interval(days => longest)) at time zone 'utc'
    order by 1
  loop
    is_held := false;
    for tenant in select distinct h.tenant_id from legal_holds h where covers(h, class) loop
      execute format('select exists (select from public.%I where tenant_id = $1)', partition) into has_rows using tenant;
      is_held := is_held or has_rows;
    end loop;
    continue when is_held;
    for tenant in select t.tenant_id from tenants t where t.deleted_at is null loop
      execute format('select exists (select from public.%I where tenant_id = $1)', partition) into has_rows using tenant;
      continue when not has_rows;
      insert into retention_purges (tenant_id, class, purged_at, up_to, unrecorded_months)
        values (tenant, class, clock_timestamp(), moment - make_interval(days => longest), array[right(partition, 7)])
        on conflict on constraint retention_purges_pkey do update set purged_at = excluded.purged_at,
          up_to = greatest(retention_purges.up_to, excluded.up_to),
          unrecorded_months = retention_purges.unrecorded_months || excluded.unrecorded_months;
    end loop;
    execute format('drop table public.%I', partition);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;

-- Months of the record of which purges have left nothing.
create function drop_purged_months() returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set lock_timeout = '500ms' as $$
declare
  partition text;
  has_rows boolean;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(7264404);
  for partition in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'public.audit_log'::regclass and c.relname ~ '_\d{4}_\d{2}$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '2 months'
        <= (select max(before) from audit_purges) at time zone 'utc'
    order by 1
  loop
    execute format('select exists (select from public.%I)', partition) into has_rows;
    continue when has_rows;
    execute format('lock table public.%I in access exclusive mode', partition);
    execute format('select exists (select from public.%I)', partition) into has_rows;
    continue when has_rows;
    execute format('drop table public.%I', partition);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
revoke all on function drop_purged_months() from public;
grant execute on function drop_purged_months() to holdfast_app;

-- The record stays append-only, but for what stands in `audit_purges`, which only `purge_audit` writes.
create function refuse_unless_purged() returns trigger language plpgsql as $$
begin
  if not exists (select from audit_purges p where p.tenant_id = old.tenant_id and p.up_to >= old.seq) then
    raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
  end if;
  return old;
end $$;
drop trigger audit_log_is_append_only on audit_log;
create trigger audit_log_is_append_only before update on audit_log
  for each row execute function refuse_to_change_the_record();
create trigger audit_log_keeps_all_but_purged before delete on audit_log
  for each row execute function refuse_unless_purged();

-- Takes the oldest of this tenant's record that is over, at most so many, and never one that has a younger one before it.
-- What counts is when the database gave a place, not the time that an event names. Says how many.
create function purge_audit(usual integer, most integer, at_once integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  tenant uuid := current_tenant();
  older_than timestamptz;
  cut bigint;
  cut_hash bytea;
  gone integer;
begin
  if tenant is null then
    raise exception 'a purge is of one tenant';
  end if;
  perform admit_purge();
  if not pg_try_advisory_xact_lock(7264491, hashtext(tenant::text)) then
    return 0;
  end if;
  older_than := over_before('audit', usual, most);
  if older_than is null then
    return 0;
  end if;
  with oldest as (
    select seq, hash, sequenced_at from audit_log where tenant_id = tenant order by seq limit at_once
  )
  select o.seq, o.hash into cut, cut_hash from oldest o
    where o.sequenced_at < older_than and not exists (select from oldest y where y.seq < o.seq and y.sequenced_at >= older_than)
    order by o.seq desc limit 1;
  if cut is null then
    return 0;
  end if;
  insert into audit_purges (tenant_id, purged_on, up_to, hash, events, kept_days, before, purged_at)
    values (tenant, (now() at time zone 'utc')::date, cut, cut_hash, 0, kept_days(tenant, 'audit', usual, most), older_than, now())
    on conflict (tenant_id, purged_on) do update set up_to = excluded.up_to, hash = excluded.hash,
      kept_days = excluded.kept_days, before = excluded.before, purged_at = excluded.purged_at;
  delete from audit_log where tenant_id = tenant and seq <= cut;
  get diagnostics gone = row_count;
  update audit_purges set events = events + gone where tenant_id = tenant and purged_on = (now() at time zone 'utc')::date;
  return gone;
end $$;
revoke all on function purge_audit(integer, integer, integer) from public;
grant execute on function purge_audit(integer, integer, integer) to holdfast_app;

-- How much there is of a class of this tenant: counted up to ten thousand rows, and estimated by the planner beyond.
create function measure_kept(class text, out n bigint, out bytes bigint, out is_estimate boolean, out oldest timestamptz)
  language plpgsql as $$
declare
  tbl text := case class when 'audit' then 'audit_log' when 'telemetry' then 'telemetry_events'
    when 'metering' then 'metering_reports' when 'policy' then 'policy_bundles' when 'revoked_devices' then 'devices'
    else class end;
  moment text := case class when 'audit' then 'sequenced_at' when 'telemetry' then 'at' when 'metering' then 'interval_end'
    when 'vpn_sessions' then 'started_at' when 'notifications' then 'created_at' when 'admin_sessions' then 'started_at'
    when 'policy' then 'published_at' when 'enrollment_tokens' then 'created_at' when 'revoked_devices' then 'revoked_at' end;
  those text := format('where tenant_id = %L', current_tenant()) || case class when 'revoked_devices'
    then ' and revoked_at is not null' else '' end;
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
    execute format('select sequenced_at from public.audit_log %s order by seq limit 1', those) into oldest;
  else
    execute format('select min(%I) from public.%I %s', moment, tbl, those) into oldest;
  end if;
end $$;

-- What is over is found by its index where a tenant thins its months.
create index telemetry_events_by_time on telemetry_events (tenant_id, at);
