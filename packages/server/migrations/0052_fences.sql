-- When the tenant was last taken past every number that it may have given out and does not know of: numbers of what is
-- signed (trust sets, metadata of updates) go on from what this time comes to (`kernel/fence.ts`).
alter table tenant_epochs add column fenced_at timestamptz;
