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
