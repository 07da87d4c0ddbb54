-- The list of devices by client version and by when a device was last seen; that of users by their last sign-in; that
-- of API keys by their last use. Behind the wall an index serves only comparisons of plain columns, so each order is a
-- column. None is null: a device that was never seen stands at the beginning.

-- A version as text whose byte order is the precedence of Semantic Versioning 2.0.0 §11: numbers are padded with zeros, an
-- identifier of a pre-release ends with a blank, and a release ends with a tilde. Leading zeros, a leading v and missing
-- parts are accepted, build metadata is left out. Other text comes before every version, and no text first of all.
create function version_key(version text) returns text language plpgsql immutable parallel safe as $$
declare
  text_of constant text := split_part(ltrim(version, 'v'), '+', 1);
  core constant text := split_part(text_of, '-', 1);
  pre constant text := substr(text_of, length(core) + 2);
  tail text := '~';
  part text;
begin
  if version is null then return ''; end if;
  -- Plain expressions: a bounded repetition in one costs a hundred times as much.
  if core !~ '^[0-9]+(\.[0-9]+)?(\.[0-9]+)?$' or pre !~ '^[0-9A-Za-z.-]*$' or length(split_part(core, '.', 1)) > 9
    or length(split_part(core, '.', 2)) > 9 or length(split_part(core, '.', 3)) > 9
  then return '0' || left(lower(version), 64); end if;
  if pre <> '' then
    tail := '-';
    foreach part in array string_to_array(pre, '.') loop
      tail := tail || case when part ~ '^[0-9]+$' then '0' || lpad(ltrim(part, '0'), 64, '0') else '1' || part end || ' ';
    end loop;
  end if;
  return '1' || lpad(split_part(core, '.', 1), 9, '0') || lpad(split_part(core, '.', 2), 9, '0')
    || lpad(split_part(core, '.', 3), 9, '0') || tail;
end $$;
alter table devices
  add column client_version_key text collate "C" not null generated always as (version_key(client_version)) stored;
create index devices_by_client_version on devices (tenant_id, client_version_key, device_id);
create index devices_by_os_version on devices (tenant_id, os_version, device_id) where os_version is not null;
-- A count of many devices is estimated from some whose addresses are drawn.
create index devices_by_address on devices (tenant_id, address_number);

-- A device is seen every half minute. Its row stays a hot update for five minutes; then both of its indexes get one more
-- entry. Every device has a row, so that the order has every device.
-- Room in each page: a hot update stays in its page.
alter table device_activity set (fillfactor = 80);
alter table device_activity add column seen_key timestamptz not null
  generated always as (coalesce(date_bin('5 minutes', last_seen_at, to_timestamp(0)), '-infinity')) stored;
create function begin_activity() returns trigger language plpgsql as $$ begin
  insert into device_activity (tenant_id, device_id) select tenant_id, device_id from came order by 1, 2
    on conflict do nothing;
  return null;
end $$;
create trigger begin_activity after insert on devices referencing new table as came
  for each statement execute function begin_activity();
insert into device_activity (tenant_id, device_id) select tenant_id, device_id from devices order by 1, 2
  on conflict do nothing;
create index device_activity_by_last_seen on device_activity (tenant_id, seen_key, device_id);

alter table users add column last_login_key timestamptz not null
  generated always as (coalesce(last_login_at, '-infinity')) stored;
create index users_by_last_login on users (tenant_id, last_login_key, user_id);
create index users_locked on users (tenant_id, locked_until, user_id) where locked_until is not null;

alter table api_key_activity alter column last_used_at drop not null;
alter table api_key_activity add column last_used_key timestamptz not null
  generated always as (coalesce(last_used_at, '-infinity')) stored;
create function begin_key_activity() returns trigger language plpgsql as $$ begin
  insert into api_key_activity (tenant_id, key_id) select tenant_id, key_id from came order by 1, 2
    on conflict do nothing;
  return null;
end $$;
create trigger begin_key_activity after insert on api_keys referencing new table as came
  for each statement execute function begin_key_activity();
insert into api_key_activity (tenant_id, key_id) select tenant_id, key_id from api_keys order by 1, 2
  on conflict do nothing;
create index api_key_activity_by_last_use on api_key_activity (tenant_id, last_used_key, key_id);
create index api_keys_by_role on api_keys (tenant_id, role, created_at, key_id);
