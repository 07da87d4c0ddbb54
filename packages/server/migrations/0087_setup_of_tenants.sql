-- How the client of a tenant is told to enroll, and the steps of the first setup that its administrators took off the
-- list. The previous version names the columns that it writes, and keeps these.
alter table tenant_settings
  add column enrollment jsonb not null default '{}',
  add column dismissed_steps text[] not null default '{}';
