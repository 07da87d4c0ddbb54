-- What gateways report comes by the hundred, and is nobody's transaction but its own. It gets its places as it is
-- written, instead of lying among the arrivals first.

-- Events are counted by the functions that give them their places: a trigger would have each row copied for it.
drop trigger events_are_counted on audit_log;
drop function count_events;

-- The hash of a place: of the one before, its number and its record.
create function hash_of_place(before bytea, seq bigint, record text) returns bytea language sql stable as
  $$ select sha256('\x00'::bytea || before || int8send(seq) || convert_to(record, 'UTF8')) $$;

-- Whoever has the head of a tenant gives its next arrivals, at most so many, their places.
create function place_arrivals(inout head audit_heads, most integer) language plpgsql
  set search_path = pg_catalog, public, pg_temp as $$
declare
  each record;
  taken bigint[] := '{}';
  hashes bytea[] := '{}';
  first timestamptz;
  last timestamptz;
begin
  for each in
    select arrival, at, record from audit_arrivals where tenant_id = head.tenant_id order by arrival limit most
  loop
    head.seq := head.seq + 1;
    head.hash := hash_of_place(head.hash, head.seq, each.record);
    taken := taken || each.arrival;
    hashes := hashes || head.hash;
    first := least(first, each.at);
    last := greatest(last, each.at);
  end loop;
  if cardinality(taken) = 0 then
    return;
  end if;
  call ensure_partitions_of_record(first, last);
  with moved as (
    delete from audit_arrivals a where a.tenant_id = head.tenant_id and a.arrival = any(taken) returning a.*
  ), counted as (
    insert into audit_counts as c (tenant_id, hour, kind, outcome, events)
    select tenant_id, date_trunc('hour', at, 'utc'), kind, outcome, count(*) from moved group by 1, 2, 3, 4 order by 2, 3, 4
    on conflict (tenant_id, hour, kind, outcome) do update set events = c.events + excluded.events
  )
  insert into audit_log (tenant_id, seq, event_id, at, kind, outcome, actor_id, actor_name_key, target_id,
    target_name_key, source_ip, request_id, record, hash)
  select m.tenant_id, head.seq - cardinality(taken) + s.place, m.event_id, m.at, m.kind, m.outcome, m.actor_id,
    lower(m.actor_name), m.target_id, lower(m.target_name), m.source_ip, m.request_id, m.record, s.hash
  from moved m join unnest(taken, hashes) with ordinality as s (arrival, hash, place) on s.arrival = m.arrival;
  update audit_heads set seq = head.seq, hash = head.hash where tenant_id = head.tenant_id;
end $$;

-- A clock that was far off must not hold up the record.
create procedure ensure_partitions_of_record(first timestamptz, last timestamptz) language plpgsql as $$
begin
  if to_regclass('public.audit_log' || to_char(first at time zone 'utc', '_YYYY_MM')) is null then
    call ensure_partitions(first);
  end if;
  if to_regclass('public.audit_log' || to_char(last at time zone 'utc', '_YYYY_MM')) is null then
    call ensure_partitions(last);
  end if;
end $$;

create or replace function sequence_audit(most integer) returns integer language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
declare
  tenant uuid := current_tenant();
  head audit_heads;
  before bigint;
begin
  if tenant is null then
    raise exception 'a sequence is of one tenant';
  end if;
  insert into audit_heads (tenant_id) values (tenant) on conflict do nothing;
  select * into head from audit_heads where tenant_id = tenant for update skip locked;
  if not found then
    return null;
  end if;
  before := head.seq;
  head := place_arrivals(head, most);
  return head.seq - before;
end $$;

-- Notes under which ids a gateway reports; says which of them were known. Nearly always none is, and to ask before each
-- row whether it is there costs more than the row. Who notes the same at once waits, and then finds it known.
create function note_reported(tenant uuid, gateway uuid, at timestamptz, ids text[]) returns text[] language plpgsql as $$
declare
  fresh text[];
begin
  insert into audit_ingested (tenant_id, gateway_id, event_id, received_at)
    select tenant, gateway, id, at from unnest(ids) as id order by id collate "C";
  return '{}';
exception when unique_violation then
  with noted as (
    insert into audit_ingested (tenant_id, gateway_id, event_id, received_at)
    select tenant, gateway, id, at from unnest(ids) as id order by id collate "C"
    on conflict do nothing returning event_id)
  select array_agg(event_id) into fresh from noted;
  return array(select unnest(ids) except select unnest(fresh));
end $$;

-- Gives the events of one report their places, behind what has arrived; where somebody else is at it, or more has
-- arrived than is placed at once, they arrive like any others. Says how many places were given, and whether these events
-- wait for theirs.
create function place_report(tenant uuid, at timestamptz, actor_id text, actor_name text, source_ip text,
  request_id text, ids uuid[], kinds text[], outcomes text[], target_ids text[], target_names text[], records text[],
  out given bigint, out waits boolean) language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  head audit_heads;
  hashes bytea[] := '{}';
begin
  if (across_tenants() or tenant = current_tenant()) is not true then
    raise exception 'a report of another tenant' using errcode = 'insufficient_privilege';
  end if;
  insert into audit_heads (tenant_id) values (tenant) on conflict do nothing;
  select * into head from audit_heads where tenant_id = tenant for update skip locked;
  given := -head.seq;
  if found then
    head := place_arrivals(head, 1000);
  end if;
  waits := head.seq is null or exists (select from audit_arrivals a where a.tenant_id = tenant);
  if waits then
    given := coalesce(given + head.seq, 0);
    insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name, target_id, target_name,
      source_ip, request_id, record)
    select tenant, e.id, at, e.kind, e.outcome, actor_id, actor_name, e.target_id, e.target_name, source_ip, request_id,
      e.record
    from unnest(ids, kinds, outcomes, target_ids, target_names, records)
      as e (id, kind, outcome, target_id, target_name, record);
    return;
  end if;
  for i in 1 .. cardinality(records) loop
    head.seq := head.seq + 1;
    head.hash := hash_of_place(head.hash, head.seq, records[i]);
    hashes := hashes || head.hash;
  end loop;
  given := given + head.seq;
  insert into audit_counts as c (tenant_id, hour, kind, outcome, events)
    select tenant, date_trunc('hour', at, 'utc'), e.kind, e.outcome, count(*) from unnest(kinds, outcomes) as e (kind, outcome)
    group by 3, 4 order by 3, 4
    on conflict (tenant_id, hour, kind, outcome) do update set events = c.events + excluded.events;
  call ensure_partitions_of_record(at, at);
  insert into audit_log (tenant_id, seq, event_id, at, kind, outcome, actor_id, actor_name_key, target_id,
    target_name_key, source_ip, request_id, record, hash)
  select tenant, head.seq - cardinality(records) + e.place, e.id, at, e.kind, e.outcome, actor_id, lower(actor_name),
    e.target_id, lower(e.target_name), source_ip, request_id, e.record, e.hash
  from unnest(ids, kinds, outcomes, target_ids, target_names, records, hashes) with ordinality
    as e (id, kind, outcome, target_id, target_name, record, hash, place);
  update audit_heads set seq = head.seq, hash = head.hash where tenant_id = tenant;
end $$;
revoke all on function place_arrivals(audit_heads, integer) from public;
revoke all on function place_report(uuid, timestamptz, text, text, text, text, uuid[], text[], text[], text[], text[],
  text[]) from public;
grant execute on function place_report(uuid, timestamptz, text, text, text, text, uuid[], text[], text[], text[], text[],
  text[]) to holdfast_app;
