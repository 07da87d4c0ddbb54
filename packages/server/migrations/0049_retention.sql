-- How long each tenant keeps what, what may not go because a law or a court says so, and what has gone. What decides
-- is asked by the statement that purges, here, under a lock that a new hold waits for: nothing goes that a hold
-- covers.

-- What holds for every tenant: for how many days a class is kept where a tenant set nothing, null for good, and the
-- least and the most that a tenant may set. Each start writes what the deployment is configured to keep; nobody else
-- does, so that whoever purges can say nothing about how long.
create table retention_periods (
  class text primary key,
  days integer,
  least integer not null,
  most integer,
  -- Until then a period that became shorter can be put right before anything goes by it.
  settles_at timestamptz not null default 'epoch'
);
grant select on retention_periods to holdfast_app;
insert into retention_periods (class, days, least, most)
  values ('audit', null, 30, null), ('vpn_sessions', 90, 7, 90), ('telemetry', 30, 7, 30), ('metering', 400, 7, 400),
    ('admin_sessions', 30, 7, null), ('notifications', 180, 7, null), ('policy', 30, 7, null),
    ('enrollment_tokens', 90, 7, null), ('revoked_devices', 90, 7, 90);
-- Until the start that comes now has said what is kept for longer.
update retention_periods set settles_at = now() + interval '1 day' where exists (select from tenants);

create table retention_settings (
  tenant_id uuid primary key references tenants,
  -- Class of data → days; a class that is absent is kept as long as the deployment says.
  days jsonb not null default '{}',
  -- Until then what became shorter can be put right before anything goes by it.
  settles_at timestamptz not null default 'epoch',
  updated_at timestamptz not null
);
call raise_tenant_wall('retention_settings');
revoke insert, update on retention_settings from holdfast_app;
grant insert (tenant_id, days, updated_at), update (days, updated_at) on retention_settings to holdfast_app;

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
revoke update on legal_holds from holdfast_app;
grant update (released_at, released_by_type, released_by_id, released_by_name, release_reason) on legal_holds
  to holdfast_app;

-- What has gone of each class, and what of that is not on record yet: an interrupted purge is recorded by the next
-- one.
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

-- After which place the record of a tenant begins since some of it was purged, and the hash of that place, from which
-- what is left is verified.
create table audit_beginnings (
  tenant_id uuid primary key,
  seq bigint not null,
  hash bytea not null constraint beginning_is_sha256 check (length(hash) = 32)
);
call raise_tenant_wall('audit_beginnings');
revoke insert, update, delete on audit_beginnings from holdfast_app;

-- Of the deployment: when its clock was looked at, and until when it is not trusted with what can not be undone.
create table retention_clock (
  there_is_one boolean primary key default true constraint there_is_one_clock check (there_is_one),
  seen_at timestamptz not null,
  trusted_from timestamptz not null
);
grant select on retention_clock to holdfast_app;
insert into retention_clock (seen_at, trusted_from) select now(), '-infinity' where exists (select from tenants);

-- Before each purge. A clock that leapt by more than three days, went back, or is ten minutes off what the asking
-- replica has for the time purges nothing for as long as it leapt: a day at least, a month at most. Says until when.
create function check_clock(witness timestamptz) returns timestamptz language plpgsql security definer
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
    clock.trusted_from := moment + greatest(least(leap, interval '30 days'), interval '1 day');
  elsif clock.trusted_from > moment + interval '30 days' then
    -- From before a clock was put back: nothing is waited for longer than that.
    clock.trusted_from := moment + interval '30 days';
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

-- Whoever purges holds this shared; a hold is placed under it alone, so that from its commit on everybody knows of
-- it.
create function admit_purge() returns void language sql as $$ select pg_advisory_xact_lock_shared(7264490) $$;
create function stop_purges() returns void language sql as $$ select pg_advisory_xact_lock(7264490) $$;

-- For how many days a class is kept by whoever set these days; null is for good.
create function days_by(chosen jsonb, class text) returns integer language sql stable as $$
  select case when coalesce((chosen ->> p.class)::integer, p.days) is not null
    then greatest(least(coalesce((chosen ->> p.class)::integer, p.days), p.most), p.least) end
  from retention_periods p where p.class = days_by.class
$$;
create function kept_days(tenant uuid, class text) returns integer language sql stable as $$
  select days_by((select s.days from retention_settings s where s.tenant_id = tenant), class)
$$;

-- The database itself says that what is shorter settles, by its own clock.
create function settle_what_is_shorter() returns trigger language plpgsql as $$
begin
  if exists (select from retention_periods p
    where days_by(new.days, p.class) < coalesce(days_by(old.days, p.class), 2147483647)) then
    new.settles_at := clock_timestamp() + interval '1 day';
  end if;
  return new;
end $$;
create trigger settle_what_is_shorter before insert or update of days on retention_settings
  for each row execute function settle_what_is_shorter();

-- A hold stands until a day after its release, so that a mistake can be put right.
create function stands(hold legal_holds) returns boolean language sql stable as $$
  select coalesce(hold.released_at + interval '1 day' > now(), true)
$$;
-- The database itself says when a hold was released, and loses none that stands.
create function keep_what_stands() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if old.released_at is not null or new.released_at is not null then
      new.released_at := coalesce(old.released_at, clock_timestamp());
    end if;
    return new;
  end if;
  if stands(old) then
    raise exception 'a legal hold stands' using errcode = 'insufficient_privilege';
  end if;
  return old;
end $$;
create trigger keep_what_stands before update or delete on legal_holds
  for each row execute function keep_what_stands();
create function covers(hold legal_holds, class text) returns boolean language sql stable as $$
  select stands(hold) and (cardinality(hold.classes) = 0 or class = any(hold.classes))
$$;
-- A hold on a person or a device keeps what is theirs, where a row says whose it is, and everything of a class
-- otherwise.
create function covers_all(hold legal_holds, class text) returns boolean language sql stable as $$
  select covers(hold, class) and not (
    hold.user_id is not null and class in ('vpn_sessions', 'admin_sessions', 'revoked_devices')
    or hold.device_id is not null and class in ('vpn_sessions', 'telemetry', 'revoked_devices'))
$$;
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
  select exists (select from legal_holds h where h.tenant_id = tenant and stands(h))
$$;
-- Replicas of the version before know of no hold. A hold that is being placed is waited for.
create function refuse_while_on_hold() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
begin
  perform admit_purge();
  if is_on_hold(old.tenant_id) then
    raise exception 'a legal hold keeps the tenant' using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
create trigger held_tenants_are_not_deleted before update of deleted_at on tenants for each row
  when (old.deleted_at is null and new.deleted_at is not null) execute function refuse_while_on_hold();

-- Whether what became shorter lately, for this tenant or for all, has to wait.
create function settles(tenant uuid, class text) returns boolean language sql stable as $$
  select exists (select from retention_settings s where s.tenant_id = tenant and s.settles_at > now())
    or exists (select from retention_periods p where p.class = settles.class and p.settles_at > now())
$$;
-- What of this tenant is older may go. Null where nothing may: for good, held, made shorter lately, or no trusted
-- time.
create function over_before(class text) returns timestamptz language sql stable as $$
  select time_to_purge() - make_interval(days => kept_days(current_tenant(), class))
  where not settles(current_tenant(), class)
    and not exists (select from legal_holds h where h.tenant_id = current_tenant() and covers_all(h, class))
$$;
-- The same of what lies by months, which usually goes a month at a time: row by row only where the tenant set for how
-- long, or months stay because of a hold, of whichever tenant.
create function thin_before(class text) returns timestamptz language sql stable security definer
  set search_path = pg_catalog, public, pg_temp as $$
  select case
    when (select s.days ? class from retention_settings s where s.tenant_id = current_tenant()) then over_before(class)
    when exists (select from legal_holds h where covers(h, class)) then date_trunc('month', over_before(class), 'UTC')
  end
$$;
revoke all on function thin_before(text) from public;
grant execute on function thin_before(text) to holdfast_app;

-- A month goes once it is over for all, as no tenant keeps it for longer than the deployment does, and nothing in it
-- is of a tenant with a hold.
drop function drop_partitions(text, integer);
create function drop_partitions(parent text) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set lock_timeout = '500ms' as $$
declare
  name text := case parent when 'vpn_sessions' then 'vpn_sessions' when 'telemetry_events' then 'telemetry'
    when 'metering_reports' then 'metering' end;
  older_than timestamptz;
  partition text;
  is_held boolean;
  dropped integer := 0;
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
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
-- For replicas of the version before, until the last one is gone: how long is no longer theirs to say.
create function drop_partitions(parent text, days integer) returns integer language sql as $$
  select drop_partitions(parent)
$$;
revoke all on function drop_partitions(text) from public;
grant execute on function drop_partitions(text) to holdfast_app;

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
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
revoke all on function drop_purged_months() from public;
grant execute on function drop_purged_months() to holdfast_app;

-- The record stays append-only, but for places before its beginning, which `purge_audit` alone moves.
create function refuse_unless_purged() returns trigger language plpgsql as $$
begin
  if not exists (select from audit_beginnings b where b.tenant_id = old.tenant_id and b.seq >= old.seq) then
    raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
  end if;
  return old;
end $$;
drop trigger audit_log_is_append_only on audit_log;
create trigger audit_log_is_append_only before update on audit_log
  for each row execute function refuse_to_change_the_record();
create trigger audit_log_keeps_all_but_purged before delete on audit_log
  for each row execute function refuse_unless_purged();

-- Where the record of a tenant begins: after this place.
create function audit_begins_after(tenant uuid) returns bigint language sql stable as $$
  select coalesce((select b.seq from audit_beginnings b where b.tenant_id = tenant), 0)
$$;

-- Takes the oldest of this tenant's record that is over, at most so many, and never a place that has a younger one
-- before it: what is left is always the end of the sequence. How long is kept, what is held and what time it is are
-- judged here. What counts is when the database gave a place, not the time that an event names; where that lies
-- ahead, since the clock was wrong then, the places after it say. Says how many.
create function purge_audit(at_once integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  tenant uuid := current_tenant();
  older_than timestamptz;
  first bigint;
  cut bigint;
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
  select max(seq) into cut from (
    select seq, sequenced_at, bool_or(sequenced_at between older_than and now()) over (order by seq) as is_behind
    from (select seq, sequenced_at from audit_log where tenant_id = tenant and seq >= first order by seq
      limit least(at_once, 5000)) as oldest) as judged
    where sequenced_at < older_than and not is_behind;
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
revoke all on function purge_audit(integer) from public;
grant execute on function purge_audit(integer) to holdfast_app;

-- How much there is of a class of this tenant: counted up to ten thousand rows, and estimated by the planner beyond.
create function measure_kept(class text, out n bigint, out bytes bigint, out is_estimate boolean,
  out oldest timestamptz) language plpgsql as $$
declare
  tbl text := case class when 'audit' then 'audit_log' when 'telemetry' then 'telemetry_events'
    when 'metering' then 'metering_reports' when 'policy' then 'policy_bundles' when 'revoked_devices' then 'devices'
    else class end;
  moment text := case class when 'audit' then 'sequenced_at' when 'telemetry' then 'at'
    when 'metering' then 'interval_end' when 'vpn_sessions' then 'started_at' when 'notifications' then 'created_at'
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
