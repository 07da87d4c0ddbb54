-- Filters of lists under a name. `owner_id` is a user of the tenant; null where an API key, or somebody of another
-- tenant, shared it.
create table saved_views (
  tenant_id uuid not null references tenants,
  view_id uuid not null,
  owner_id uuid,
  list text not null,
  name text not null,
  name_key text collate "C" not null generated always as (lower(name)) stored,
  query jsonb not null,
  shared boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, view_id),
  foreign key (tenant_id, owner_id) references users,
  constraint view_without_owner_is_shared check (owner_id is not null or shared)
);
create unique index view_name_is_unique_for_its_owner on saved_views (tenant_id, owner_id, list, name_key)
  nulls not distinct where deleted_at is null;
create index saved_views_shared on saved_views (tenant_id, view_id) where shared and deleted_at is null;
call raise_tenant_wall('saved_views');

-- The words of what was there before 0070. No writer waits for this: the triggers keep what changes meanwhile.
insert into search_words (tenant_id, kind, place, word, subject_id)
  select r.tenant_id, 'device', e.place, e.word, r.device_id
  from devices r cross join lateral search_entries(array[r.name, r.serial]) e on conflict do nothing;
insert into search_words (tenant_id, kind, place, word, subject_id)
  select r.tenant_id, 'user', e.place, e.word, r.user_id
  from users r cross join lateral search_entries(array[r.username, r.display_name, r.email]) e
  where r.deleted_at is null on conflict do nothing;
insert into search_words (tenant_id, kind, place, word, subject_id)
  select r.tenant_id, 'group', e.place, e.word, r.group_id
  from groups r cross join lateral search_entries(array[r.name]) e
  union all
  select r.tenant_id, 'enrollment_token', e.place, e.word, r.token_id
  from enrollment_tokens r cross join lateral search_entries(array[r.name, r.hint]) e
  union all
  select r.tenant_id, 'api_key', e.place, e.word, r.key_id
  from api_keys r cross join lateral search_entries(array[r.name, r.hint]) e
  union all
  select r.tenant_id, 'policy_version', e.place, e.word, r.bundle_id
  from policy_bundles r
  cross join lateral search_entries(array[r.note, r.version::text, 'v' || r.version::text, r.digest, r.channel]) e
  on conflict do nothing;
