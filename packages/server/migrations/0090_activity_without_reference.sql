-- A trigger (0072) makes a device's row of activity together with the device, so its reference needs no check. The check
-- cost more than the row: while a table has no statistics, as in the first minute of a deployment, PostgreSQL chose an
-- index for it by which it read all devices of the tenant. Whoever deletes devices deletes these rows first, and such a
-- device has been refused for days, so no late report makes its row again.
alter table device_activity drop constraint device_activity_tenant_id_device_id_fkey;
-- A new row has the key of a device that was never seen.
create or replace trigger set_seen_key before insert or update of last_seen_at, seen_key on device_activity
  for each row when (new.last_seen_at is not null) execute function set_seen_key();
