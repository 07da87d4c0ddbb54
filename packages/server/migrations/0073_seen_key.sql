-- The order of the list of devices by their last contact, like that of 0072. It comes before every time where a device was
-- never seen. A device is seen every half minute. The key moves in steps of five minutes, so that the update of a row
-- stays hot in between.
alter table device_activity add column seen_key timestamptz not null default '-infinity';
-- Room in each page: a hot update stays in its page.
alter table device_activity set (fillfactor = 80);
create function set_seen_key() returns trigger language plpgsql as $$ begin
  new.seen_key := coalesce(date_bin('5 minutes', new.last_seen_at, to_timestamp(0)), '-infinity');
  return new;
end $$;
create trigger set_seen_key before insert or update of last_seen_at, seen_key on device_activity
  for each row execute function set_seen_key();
