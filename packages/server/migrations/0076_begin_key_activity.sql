-- Every API key has a row of activity, so that the order has every key. 0081 adds those of before.
create function begin_key_activity() returns trigger language plpgsql as $$ begin
  insert into api_key_activity (tenant_id, key_id) select tenant_id, key_id from came order by 1, 2
    on conflict do nothing;
  return null;
end $$;
create trigger begin_key_activity after insert on api_keys referencing new table as came
  for each statement execute function begin_key_activity();
