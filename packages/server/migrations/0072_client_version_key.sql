-- The order of the list of devices by client version. Behind the tenant wall an index serves only comparisons of plain
-- columns, so the order is a column. A default that is constant adds it without a rewrite of the table, and a trigger
-- sets it in each row that is written from now on, also by the previous version. 0078 fills the rows of before.

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
alter table devices add column client_version_key text collate "C" not null default '';
create function set_client_version_key() returns trigger language plpgsql as $$ begin
  new.client_version_key := version_key(new.client_version);
  return new;
end $$;
create trigger set_client_version_key before insert or update of client_version, client_version_key on devices
  for each row execute function set_client_version_key();

-- Every device has a row of activity, so that the order by the last contact has every device. 0079 adds those of before.
create function begin_activity() returns trigger language plpgsql as $$ begin
  insert into device_activity (tenant_id, device_id) select tenant_id, device_id from came order by 1, 2
    on conflict do nothing;
  return null;
end $$;
create trigger begin_activity after insert on devices referencing new table as came
  for each statement execute function begin_activity();
