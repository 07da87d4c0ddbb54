-- The record of a tenant is a sequence in the order of commits. An event is written to `audit_arrivals` in the
-- transaction of what it describes; `sequence_audit` gives it its place in `audit_log` right after. What reads the record
-- reads `audit_log` alone, and whoever has read up to a place has missed nothing before it.

-- RFC 8785, of what comes from jsonb: for the events that were written before, and by replicas of the version before.
create function canonical_json(value jsonb) returns text language sql immutable parallel safe as $$
  select case jsonb_typeof(value)
    when 'object' then '{' || coalesce((
      select string_agg(to_json(key)::text || ':' || canonical_json(member), ',' order by key collate "C")
      from jsonb_each(value) as m (key, member)), '') || '}'
    when 'array' then '[' || coalesce((
      select string_agg(canonical_json(element), ',' order by place)
      from jsonb_array_elements(value) with ordinality as e (element, place)), '') || ']'
    when 'number' then trim_scale((value #>> '{}')::numeric)::text
    else value::text
  end
$$;

alter table audit_events rename to audit_events_before;

create table audit_arrivals (
  tenant_id uuid not null,
  -- Greater than that of every event that was on record when this one was written.
  arrival bigint generated always as identity,
  event_id uuid not null,
  at timestamptz not null,
  kind text not null,
  outcome text not null constraint arriving_outcome_is_known check (outcome in ('success', 'refused', 'failed')),
  actor_id text,
  actor_name text,
  target_id text,
  target_name text,
  source_ip text,
  request_id text,
  -- The event as RFC 8785 writes it, without its place.
  record text not null,
  primary key (tenant_id, arrival)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
call raise_tenant_wall('audit_arrivals');
revoke update, delete on audit_arrivals from holdfast_app;

create table audit_log (
  tenant_id uuid not null,
  seq bigint not null constraint places_begin_at_one check (seq > 0),
  event_id uuid not null,
  at timestamptz not null,
  kind text collate "C" not null,
  outcome text not null constraint outcome_is_known check (outcome in ('success', 'refused', 'failed')),
  actor_id text collate "C",
  actor_name_key text collate "C",
  target_id text collate "C",
  target_name_key text collate "C",
  source_ip text,
  request_id text,
  record text not null,
  -- SHA-256 of 0x00, the hash of the place before (32 zeros before the first), `seq` in 8 bytes and the record.
  hash bytea not null constraint hash_is_sha256 check (length(hash) = 32),
  sequenced_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, at, event_id)
) partition by range (at);
-- Every request of an API key writes an event, so each index here is paid for often. By kind, actor and target: what an
-- investigation asks for, and what a search by prefix reads. By source: "what else came from this address". By outcome:
-- only what did not succeed, which is little. Names: only where they are not the id again, for the search by prefix.
create index audit_log_by_place on audit_log (tenant_id, seq);
create index audit_log_by_kind on audit_log (tenant_id, kind, at, event_id);
create index audit_log_by_actor on audit_log (tenant_id, actor_id, at, event_id) where actor_id is not null;
create index audit_log_by_target on audit_log (tenant_id, target_id, at, event_id) where target_id is not null;
create index audit_log_by_actor_name on audit_log (tenant_id, actor_name_key, at, event_id) where actor_name_key is not null;
create index audit_log_by_target_name on audit_log (tenant_id, target_name_key, at, event_id)
  where target_name_key is not null;
create index audit_log_by_source on audit_log (tenant_id, source_ip, at, event_id) where source_ip is not null;
create index audit_log_by_outcome on audit_log (tenant_id, outcome, at, event_id) where outcome <> 'success';
create index audit_log_by_request on audit_log (tenant_id, request_id) where request_id is not null;
call raise_tenant_wall('audit_log');
-- Rows come by `sequence_audit`, and stay as they are, whoever asks.
revoke insert, update, delete on audit_log from holdfast_app;
create function refuse_to_change_the_record() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function refuse_to_change_the_record();
create trigger audit_log_is_not_emptied before truncate on audit_log
  for each statement execute function refuse_to_change_the_record();

create table audit_heads (
  tenant_id uuid primary key,
  seq bigint not null default 0,
  hash bytea not null default decode(repeat('00', 32), 'hex')
);
call raise_tenant_wall('audit_heads');
revoke insert, update, delete on audit_heads from holdfast_app;

create or replace procedure ensure_partitions(moment timestamptz) language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  parent text;
  month timestamp;
begin
  perform pg_advisory_xact_lock(7264404);
  foreach parent in array array['audit_log', 'metering_reports', 'telemetry_events', 'vpn_sessions'] loop
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

-- Gives the next arrivals of this tenant, at most so many, their places in its record. Says how many; null where
-- somebody else is at it, whom nobody waits for.
create function sequence_audit(most integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  tenant uuid := current_tenant();
  head audit_heads;
  each record;
  taken bigint[] := '{}';
  hashes bytea[] := '{}';
  first timestamptz;
  last timestamptz;
begin
  if tenant is null then
    raise exception 'a sequence is of one tenant';
  end if;
  insert into audit_heads (tenant_id) values (tenant) on conflict do nothing;
  select * into head from audit_heads where tenant_id = tenant for update skip locked;
  if not found then
    return null;
  end if;
  for each in
    select arrival, at, record from audit_arrivals where tenant_id = tenant order by arrival limit most
  loop
    head.seq := head.seq + 1;
    head.hash := sha256('\x00'::bytea || head.hash || int8send(head.seq) || convert_to(each.record, 'UTF8'));
    taken := taken || each.arrival;
    hashes := hashes || head.hash;
    first := least(first, each.at);
    last := greatest(last, each.at);
  end loop;
  if cardinality(taken) = 0 then
    return 0;
  end if;
  -- A clock that was far off must not hold up the record.
  if to_regclass('public.audit_log' || to_char(first at time zone 'utc', '_YYYY_MM')) is null then
    call ensure_partitions(first);
  end if;
  if to_regclass('public.audit_log' || to_char(last at time zone 'utc', '_YYYY_MM')) is null then
    call ensure_partitions(last);
  end if;
  with moved as (
    delete from audit_arrivals a where a.tenant_id = tenant and a.arrival = any(taken) returning a.*
  )
  insert into audit_log (tenant_id, seq, event_id, at, kind, outcome, actor_id, actor_name_key, target_id,
    target_name_key, source_ip, request_id, record, hash)
  select m.tenant_id, head.seq - cardinality(taken) + s.place, m.event_id, m.at, m.kind, m.outcome, m.actor_id,
    lower(m.actor_name), m.target_id, lower(m.target_name), m.source_ip, m.request_id, m.record, s.hash
  from moved m join unnest(taken, hashes) with ordinality as s (arrival, hash, place) on s.arrival = m.arrival;
  update audit_heads set seq = head.seq, hash = head.hash where tenant_id = tenant;
  return cardinality(taken);
end $$;
revoke all on function sequence_audit(integer) from public;
grant execute on function sequence_audit(integer) to holdfast_app;

-- For replicas of the version before, until the last one is gone: what they know as the table of events.
create view audit_events with (security_invoker = true) as
  select tenant_id, event_id, at, kind, outcome, record::jsonb #>> '{actor,type}' as actor_type, actor_id,
    record::jsonb #>> '{actor,name}' as actor_name, record::jsonb #>> '{target,type}' as target_type, target_id,
    record::jsonb #>> '{target,name}' as target_name, source_ip, record::jsonb ->> 'user_agent' as user_agent, request_id,
    record::jsonb ->> 'origin' as origin, record::jsonb as fields, record::jsonb -> 'changes' as changes,
    record::jsonb -> 'details' as details, actor_name_key, target_name_key
  from audit_log
  union all
  select tenant_id, event_id, at, kind, outcome, record::jsonb #>> '{actor,type}', actor_id, actor_name,
    record::jsonb #>> '{target,type}', target_id, target_name, source_ip, record::jsonb ->> 'user_agent', request_id,
    record::jsonb ->> 'origin', record::jsonb, record::jsonb -> 'changes', record::jsonb -> 'details', lower(actor_name),
    lower(target_name)
  from audit_arrivals;
grant select, insert on audit_events to holdfast_app;

create function type_id(prefix text, id uuid) returns text language sql immutable as $$
  -- 128 bits after two zeros, five at a time, in the digits of Crockford.
  select prefix || '_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
    (substring(('00' || ('x' || replace(id::text, '-', ''))::bit(128)::text)::bit(130) from i * 5 + 1 for 5))::integer + 1, 1),
    '' order by i)
  from generate_series(0, 25) as i
$$;
create function record_of(e audit_events) returns text language sql immutable as $$
  select canonical_json(coalesce(e.fields, '{}')
    || case when e.changes is null then '{}' else jsonb_build_object('changes', e.changes) end
    || case when e.details is null then '{}' else jsonb_build_object('details', e.details) end
    || jsonb_build_object('event_id', type_id('evt', e.event_id), 'tenant_id', type_id('tnt', e.tenant_id), 'kind', e.kind,
      'timestamp', to_char(e.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'outcome', e.outcome,
      'actor', jsonb_build_object('type', e.actor_type, 'id', e.actor_id, 'name', e.actor_name),
      'target', case when e.target_type is not null then
        jsonb_build_object('type', e.target_type, 'id', e.target_id, 'name', e.target_name) end,
      'source_ip', e.source_ip, 'user_agent', e.user_agent, 'request_id', e.request_id, 'origin', e.origin))
$$;
create function take_event_as_arrival() returns trigger language plpgsql as $$
begin
  insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name, target_id, target_name,
    source_ip, request_id, record)
  values (new.tenant_id, new.event_id, new.at, new.kind, new.outcome, new.actor_id, new.actor_name, new.target_id,
    new.target_name, new.source_ip, new.request_id, record_of(new));
  return new;
end $$;
create trigger take_event_as_arrival instead of insert on audit_events
  for each row execute function take_event_as_arrival();

-- What was on record before comes first, in the order of its time.
insert into audit_events (tenant_id, event_id, at, kind, outcome, actor_type, actor_id, actor_name, target_type, target_id,
    target_name, source_ip, user_agent, request_id, origin, fields, changes, details)
  select tenant_id, event_id, at, kind, outcome, actor_type, actor_id, actor_name, target_type, target_id, target_name,
    source_ip, user_agent, request_id, origin, fields, changes, details
  from audit_events_before order by at, event_id;
do $$
declare
  month timestamptz;
begin
  call ensure_partitions(now());
  for month in select distinct date_trunc('month', at at time zone 'utc') at time zone 'utc' from audit_events_before loop
    call ensure_partitions(month);
  end loop;
end $$;
drop table audit_events_before;
