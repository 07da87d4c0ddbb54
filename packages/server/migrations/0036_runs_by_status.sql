-- Runs that are held, or failed, are listed whatever lies between them.
create index directory_runs_by_status on directory_runs (tenant_id, status, started_at, run_id);
