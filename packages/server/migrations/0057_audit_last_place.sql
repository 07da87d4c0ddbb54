-- Whoever has given events their places has their words at hand, and need not read the record for them: it must know
-- which places they are.
drop function place_report(uuid, timestamptz, text, text, text, text, uuid[], text[], text[], text[], text[],
  text[]);
-- Gives the events of one report their places, behind what has arrived; where somebody else is at it, or more has
-- arrived than is placed at once, they arrive like any others. Says how many places were given, whether these events
-- wait for theirs, and the last place that they got.
create function place_report(tenant uuid, at timestamptz, actor_id text, actor_name text, source_ip text,
  request_id text, ids uuid[], kinds text[], outcomes text[], target_ids text[], target_names text[], records text[],
  out given bigint, out waits boolean, out last bigint) language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
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
  last := head.seq;
  update audit_heads set seq = head.seq, hash = head.hash where tenant_id = tenant;
end $$;
revoke all on function place_report(uuid, timestamptz, text, text, text, text, uuid[], text[], text[], text[], text[],
  text[]) from public;
grant execute on function place_report(uuid, timestamptz, text, text, text, text, uuid[], text[], text[], text[], text[],
  text[]) to holdfast_app;

-- The hash of the tenant is one for all of its words.
create or replace function audit_word_hashes(tenant uuid, words text[]) returns bigint[] language sql immutable
  parallel safe as $$
  select coalesce(array_agg(distinct hashtextextended(word, seed)), '{}')
  from unnest(words) as word, (select hashtextextended(tenant::text, 0) as seed offset 0) as one
$$;
