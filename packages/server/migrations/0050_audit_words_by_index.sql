-- Of two indexes the planner took that of the tenant, and read the words of all of its blocks, whenever the other one
-- had entries that were not yet in their places. Words are hashed for each tenant, so whose they are is asked last.
create or replace function audit_blocks_with(sought text[])
  returns table (block bigint, first_at timestamptz, last_at timestamptz) language plpgsql stable security definer
  set search_path = pg_catalog, public, pg_temp set enable_seqscan = off set enable_indexscan = off as $$
begin
  return query
    with those as materialized (
      select w.tenant_id, w.block, w.first_at, w.last_at from audit_words w
      where w.words @> audit_word_hashes(current_tenant(), sought))
    select t.block, t.first_at, t.last_at from those t where t.tenant_id = current_tenant();
end $$;
