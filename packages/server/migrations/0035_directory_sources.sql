-- Directories that this deployment reads by itself: how and when, and how far a reading has come.

create table directory_sources (
  tenant_id uuid not null references tenants,
  source_id uuid not null,
  directory_id uuid not null,
  kind text not null constraint directory_source_kind_is_known check (kind in ('keycloak', 'entra_id', 'okta')),
  enabled boolean not null,
  issuer text not null,
  client_id text not null,
  credential_jwe text,
  interval_minutes integer not null,
  take_users text not null constraint directory_source_users_are_known check (take_users in ('all', 'in_groups')),
  take_groups text not null
    constraint directory_source_groups_are_known check (take_groups in ('all', 'none', 'listed')),
  group_names jsonb not null,
  -- Null while it is not enabled.
  next_run_at timestamptz,
  -- Pulls that failed in a row, and since when they do.
  failures integer not null default 0,
  failing_since timestamptz,
  -- What the next reading goes on from, where a vendor tells what has changed since: links, when they were read, and
  -- how many pages came before.
  kept jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (tenant_id, source_id),
  foreign key (tenant_id, directory_id) references directories
);
create unique index directory_has_one_source on directory_sources (tenant_id, directory_id) where deleted_at is null;
create index directory_sources_by_creation on directory_sources (tenant_id, created_at, source_id)
  where deleted_at is null;
create index directory_sources_due on directory_sources (next_run_at)
  where next_run_at is not null and deleted_at is null;
call raise_tenant_wall('directory_sources');

alter table directory_runs
  drop constraint directory_run_status_is_known,
  add constraint directory_run_status_is_known check
    (status in ('fetching', 'applied', 'held', 'unchanged', 'dry_run', 'superseded', 'failed', 'cancelled')),
  alter column finished_at drop not null,
  -- Of a pull: what is read, how far that is, and why it failed.
  add column source_id uuid,
  add column progress jsonb,
  add column failure text;

-- The pull of a source that is on its way: there is one at most. Whoever holds the claim reads its next page.
create table directory_pulls (
  tenant_id uuid not null,
  source_id uuid not null,
  run_id uuid not null,
  dry_run boolean not null,
  confirmed boolean not null,
  -- Who asked for it; null: its schedule.
  requested_by jsonb,
  cursor jsonb not null,
  pages integer not null,
  claimed_by uuid,
  claimed_until timestamptz not null,
  primary key (tenant_id, source_id),
  foreign key (tenant_id, source_id) references directory_sources,
  foreign key (tenant_id, run_id) references directory_runs
);
create index directory_pulls_free on directory_pulls (claimed_until);
call raise_tenant_wall('directory_pulls');

-- What was read, in order; of whole readings that the next one goes on from, and of the pull on its way.
create table directory_pages (
  tenant_id uuid not null,
  source_id uuid not null,
  page integer not null,
  content text not null,
  primary key (tenant_id, source_id, page),
  foreign key (tenant_id, source_id) references directory_sources
);
call raise_tenant_wall('directory_pages');
