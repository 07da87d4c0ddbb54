-- The order of the list of API keys by their last use, like that of 0072.
alter table api_key_activity
  alter column last_used_at drop not null,
  add column last_used_key timestamptz not null default '-infinity';
create function set_last_used_key() returns trigger language plpgsql as $$ begin
  new.last_used_key := coalesce(new.last_used_at, '-infinity');
  return new;
end $$;
create trigger set_last_used_key before insert or update of last_used_at, last_used_key on api_key_activity
  for each row execute function set_last_used_key();
