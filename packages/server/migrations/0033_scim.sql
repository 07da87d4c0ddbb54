-- Directories that an identity provider provisions entry by entry (SCIM 2.0).

-- The directory that a key provisions; such a key does nothing else.
alter table api_keys add column directory text;

alter table directories
  -- What it is kept by, from the first entry on: a directory has one source.
  add column source text not null default 'snapshot'
    constraint directory_source_is_known check (source in ('snapshot', 'scim'));

alter table directory_runs
  add column source text not null default 'snapshot'
    constraint directory_run_source_is_known check (source in ('snapshot', 'scim'));

alter table users
  -- What its directory said of it that only the directory is told again.
  add column directory_attributes jsonb;
create index users_of_directory_in_order on users (tenant_id, directory_id, user_id)
  where directory_id is not null and absent_since is null and deleted_at is null;

alter table groups
  -- Since when its directory does not name it.
  add column absent_since timestamptz;
create index groups_of_directory_in_order on groups (tenant_id, directory_id, group_id)
  where directory_id is not null and absent_since is null;

-- What was taken away within an hour: of a directory's users, and of each of its groups.
create table directory_windows (
  tenant_id uuid not null,
  directory_id uuid not null,
  -- The group whose members they are; the id of nothing where it is the users of the directory.
  group_id uuid not null,
  since timestamptz not null,
  had integer not null,
  removed integer not null,
  -- The run that is held because it was too much; until somebody confirms that, nothing more is taken away.
  held_run_id uuid,
  -- Somebody confirmed: until then as much as is wanted may be taken away.
  free_until timestamptz,
  primary key (tenant_id, directory_id, group_id),
  foreign key (tenant_id, directory_id) references directories
);
call raise_tenant_wall('directory_windows');
