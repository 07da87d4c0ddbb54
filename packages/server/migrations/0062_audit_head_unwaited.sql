-- Nobody waits for the head of a record: an insert that does nothing where the row is there waits for whoever has changed
-- that row and not committed, so it is made only where there is none.
create function hold_head(tenant uuid) returns audit_heads language plpgsql set search_path = pg_catalog, public, pg_temp
  as $$
declare
  head audit_heads;
begin
  select * into head from audit_heads where tenant_id = tenant for update skip locked;
  if not found and not exists (select from audit_heads where tenant_id = tenant) then
    insert into audit_heads (tenant_id) values (tenant) on conflict do nothing;
    select * into head from audit_heads where tenant_id = tenant for update skip locked;
  end if;
  return head;
end $$;
revoke all on function hold_head(uuid) from public;

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
  head := hold_head(tenant);
  if head.seq is null then
    return null;
  end if;
  before := head.seq;
  head := place_arrivals(head, most);
  return head.seq - before;
end $$;

create or replace function place_report(tenant uuid, at timestamptz, actor_id text, actor_name text, source_ip text,
  request_id text, ids uuid[], kinds text[], outcomes text[], target_ids text[], target_names text[], records text[],
  out given bigint, out waits boolean, out last bigint) language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  head audit_heads;
  hashes bytea[] := '{}';
begin
  if (across_tenants() or tenant = current_tenant()) is not true then
    raise exception 'a report of another tenant' using errcode = 'insufficient_privilege';
  end if;
  head := hold_head(tenant);
  given := -head.seq;
  if head.seq is not null then
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
