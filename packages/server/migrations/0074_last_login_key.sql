-- The order of the list of users by their last sign-in, like that of 0072.
alter table users add column last_login_key timestamptz not null default '-infinity';
create function set_last_login_key() returns trigger language plpgsql as $$ begin
  new.last_login_key := coalesce(new.last_login_at, '-infinity');
  return new;
end $$;
create trigger set_last_login_key before insert or update of last_login_at, last_login_key on users
  for each row execute function set_last_login_key();
