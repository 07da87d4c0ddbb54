-- When the tenant's newest sequence number was given, in the database's time: what holds at a number depends on nothing else.
alter table tenant_epochs add column changed_at timestamptz not null default clock_timestamp();
