-- Accounts of programs, mail addresses that are somebody's, and what groups there were.

-- A service account has no password and no sign-in; it holds roles and may own API keys.
alter table users
  add column kind text not null default 'person'
    constraint user_kind_is_known check (kind in ('person', 'service')),
  add constraint service_account_has_no_password check (kind = 'person' or password_phc is null);
create unique index email_is_unique_in_its_tenant on users (tenant_id, lower(email))
  where deleted_at is null and email is not null;

-- What is left of a group, so that deleting it once more can be told from naming one that never was.
create table deleted_groups (
  tenant_id uuid not null references tenants,
  group_id uuid not null,
  name text not null,
  description text not null,
  source text not null,
  created_at timestamptz not null,
  deleted_at timestamptz not null,
  primary key (tenant_id, group_id)
);
call raise_tenant_wall('deleted_groups');
