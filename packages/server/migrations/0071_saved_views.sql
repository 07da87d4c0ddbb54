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

-- The words of small tables of before 0070; 0077 and 0083 add those of devices and users. A change of a row waits until
-- its words are there, and then replaces them.
do $$
declare
  source record;
begin
  for source in values
    ('groups', 'group', 'group_id', 'array[r.name]'),
    ('enrollment_tokens', 'enrollment_token', 'token_id', 'array[r.name, r.hint]'),
    ('api_keys', 'api_key', 'key_id', 'array[r.name, r.hint]'),
    ('policy_bundles', 'policy_version', 'bundle_id',
      $a$array[r.note, r.version::text, 'v' || r.version::text, r.digest, r.channel]$a$)
  loop
    execute format($f$
      insert into search_words (tenant_id, kind, place, word, subject_id)
        select r.tenant_id, %2$L, e.place, e.word, r.%3$s
        from (select * from %1$s order by tenant_id, %3$s for share) r cross join lateral search_entries(%4$s) e
        on conflict do nothing
    $f$, source.column1, source.column2, source.column3, source.column4);
  end loop;
end $$;
