-- Directories, the runs that bring users and groups to what they say, and who belongs to one.

create table directories (
  tenant_id uuid not null references tenants,
  directory_id uuid not null,
  provider text not null,
  provider_key text collate "C" generated always as (lower(provider)) stored,
  -- Of the newest snapshot that was taken.
  generated_at timestamptz,
  created_at timestamptz not null,
  primary key (tenant_id, directory_id)
);
create unique index directory_name_is_unique_in_its_tenant on directories (tenant_id, provider_key);
call raise_tenant_wall('directories');

create table directory_runs (
  tenant_id uuid not null references tenants,
  run_id uuid not null,
  -- Null for a dry run or a failure of a directory that nothing was taken from yet.
  directory_id uuid,
  provider text not null,
  provider_key text collate "C" generated always as (lower(provider)) stored,
  snapshot_id text not null,
  generated_at timestamptz not null,
  status text not null constraint directory_run_status_is_known
    check (status in ('applied', 'held', 'unchanged', 'dry_run', 'superseded', 'failed')),
  counts jsonb not null,
  held_because jsonb not null default '[]',
  diff jsonb not null default '[]',
  problems jsonb not null default '[]',
  problem_count integer not null default 0,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  confirmed_at timestamptz,
  undone_at timestamptz,
  primary key (tenant_id, run_id),
  foreign key (tenant_id, directory_id) references directories
);
create unique index snapshot_is_taken_once on directory_runs (tenant_id, directory_id, snapshot_id)
  where status in ('applied', 'held', 'unchanged', 'superseded');
create index directory_runs_by_start on directory_runs (tenant_id, started_at, run_id);
create index directory_runs_by_provider on directory_runs (tenant_id, provider_key, started_at, run_id);
create index directory_runs_of_directory on directory_runs (tenant_id, directory_id, started_at, run_id);
create index directory_runs_held on directory_runs (tenant_id, directory_id) where status = 'held';
call raise_tenant_wall('directory_runs');

-- The snapshot of a run that is held, or what it takes to undo the newest that was applied: JSON, as text.
create table directory_run_contents (
  tenant_id uuid not null,
  run_id uuid not null,
  content text not null,
  primary key (tenant_id, run_id),
  foreign key (tenant_id, run_id) references directory_runs on delete cascade
);
call raise_tenant_wall('directory_run_contents');

alter table users
  add column directory_id uuid,
  add column external_id text,
  -- Its directory is why it is suspended, and may lift that; an administrator's suspension it may not.
  add column suspended_by_directory boolean not null default false,
  -- Since when its directory does not name it.
  add column absent_since timestamptz,
  add constraint user_of_a_directory_has_its_id check ((directory_id is null) = (external_id is null)),
  add constraint directory_suspends_who_is_suspended check (not suspended_by_directory or status = 'suspended'),
  add constraint user_is_of_a_known_directory foreign key (tenant_id, directory_id) references directories;
create unique index external_id_is_unique_in_its_directory on users (tenant_id, directory_id, external_id)
  where deleted_at is null and directory_id is not null;
create index users_absent on users (tenant_id, absent_since) where absent_since is not null and deleted_at is null;

alter table groups
  add column directory_id uuid,
  add column external_id text,
  add constraint group_of_a_directory_has_its_id check ((directory_id is null) = (external_id is null)),
  add constraint group_is_of_a_known_directory foreign key (tenant_id, directory_id) references directories;
create unique index group_external_id_is_unique_in_its_directory on groups (tenant_id, directory_id, external_id)
  where directory_id is not null;
