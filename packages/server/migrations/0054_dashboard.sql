-- How many events of a kind each hour had, counted with the place that each is given: what is charted of the record is
-- read here, and costs the same however long the record is.
create table audit_counts (
  tenant_id uuid not null,
  hour timestamptz not null,
  kind text collate "C" not null,
  outcome text not null constraint counted_outcome_is_known check (outcome in ('success', 'refused', 'failed')),
  events bigint not null,
  primary key (tenant_id, hour, kind, outcome)
);
call raise_tenant_wall('audit_counts');
-- Counted by `sequence_audit` alone.
revoke insert, update on audit_counts from holdfast_app;

-- What charts show of the time before this version.
insert into audit_counts (tenant_id, hour, kind, outcome, events)
  select tenant_id, date_trunc('hour', at, 'utc'), kind, outcome, count(*) from audit_log
  where at > now() - interval '31 days' group by 1, 2, 3, 4;

create or replace function sequence_audit(most integer) returns integer language plpgsql security definer
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
  ), counted as (
    insert into audit_counts as c (tenant_id, hour, kind, outcome, events)
    select m.tenant_id, date_trunc('hour', m.at, 'utc'), m.kind, m.outcome, count(*) from moved m
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_id, hour, kind, outcome) do update set events = c.events + excluded.events
  )
  insert into audit_log (tenant_id, seq, event_id, at, kind, outcome, actor_id, actor_name_key, target_id,
    target_name_key, source_ip, request_id, record, hash)
  select m.tenant_id, head.seq - cardinality(taken) + s.place, m.event_id, m.at, m.kind, m.outcome, m.actor_id,
    lower(m.actor_name), m.target_id, lower(m.target_name), m.source_ip, m.request_id, m.record, s.hash
  from moved m join unnest(taken, hashes) with ordinality as s (arrival, hash, place) on s.arrival = m.arrival;
  update audit_heads set seq = head.seq, hash = head.hash where tenant_id = tenant;
  return cardinality(taken);
end $$;
