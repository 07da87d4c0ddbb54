-- One event by its id. Ids grow with time, so that this index grows at its end alone.
create index audit_log_by_id on audit_log (tenant_id, event_id);

-- What a gateway has reported under an id of its own is on record once.
create table audit_ingested (
  tenant_id uuid not null,
  gateway_id uuid not null,
  event_id text collate "C" not null,
  received_at timestamptz not null,
  primary key (tenant_id, gateway_id, event_id)
);
-- For forgetting them.
create index audit_ingested_by_time on audit_ingested (tenant_id, received_at);
call raise_tenant_wall('audit_ingested');
revoke update on audit_ingested from holdfast_app;

-- Which words stand in which block of 1,024 places, for the search by text. An index over the words of every event would
-- cost more than all the others together; of a block they are read once, after its last place is given.
create table audit_words (
  tenant_id uuid not null,
  block bigint not null,
  -- Between which its events happened.
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- Hashes that differ from tenant to tenant, so that one index serves each of them alone.
  words bigint[] not null,
  primary key (tenant_id, block)
);
create index audit_words_by_word on audit_words using gin (words);
call raise_tenant_wall('audit_words');
revoke update on audit_words from holdfast_app;

-- The wall is judged before any condition that might tell what it sees, as one on arrays might: so no such condition
-- is answered by an index for the application, and this function asks for it.
create function audit_blocks_with(sought text[])
  returns table (block bigint, first_at timestamptz, last_at timestamptz) language plpgsql stable security definer
  set search_path = pg_catalog, public, pg_temp set enable_seqscan = off set enable_indexscan = off as $$
begin
  return query select w.block, w.first_at, w.last_at from audit_words w
    where w.tenant_id = current_tenant() and w.words @> audit_word_hashes(current_tenant(), sought);
end $$;
create function audit_word_hashes(tenant uuid, words text[]) returns bigint[] language sql immutable parallel safe as $$
  select coalesce(array_agg(distinct hashtextextended(word, hashtextextended(tenant::text, 0))), '{}') from unnest(words) as word
$$;
revoke all on function audit_blocks_with(text[]) from public;
grant execute on function audit_blocks_with(text[]) to holdfast_app;
