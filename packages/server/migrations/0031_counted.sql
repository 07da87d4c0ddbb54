-- Who belongs to a directory or a provider is counted without reading users or accounts.
create index users_of_directory on users (tenant_id, directory_id, status)
  where deleted_at is null and directory_id is not null;
create index user_identities_by_provider on user_identities (tenant_id, provider_id, user_id);

-- The newest run of a directory that came to something lies behind however many that failed.
create index directory_runs_applied on directory_runs (tenant_id, directory_id, started_at, run_id)
  where status = 'applied';
create index directory_runs_succeeded on directory_runs (tenant_id, directory_id, started_at, run_id)
  where status in ('applied', 'unchanged');
