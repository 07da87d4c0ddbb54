-- Second factors, temporary passwords, and how lately a session showed a code.

-- A password that someone else generated opens one session before its expiry, which must change it.
alter table users
  add column password_must_change boolean not null default false,
  add column password_expires_at timestamptz;

alter table admin_sessions add column stepped_up_at timestamptz;
create index admin_sessions_by_start on admin_sessions (tenant_id, started_at, session_id) where ended_at is null;

alter table user_roles
  add column grant_id uuid not null default gen_random_uuid(),
  add column granted_by text;
create unique index grant_id_is_unique on user_roles (tenant_id, grant_id);
create index user_roles_by_grant on user_roles (tenant_id, granted_at, grant_id);

-- One row a user: pending until a code was verified, from then on the user's second factor. No code of a step up to
-- last_step is taken again.
create table user_totp (
  tenant_id uuid not null,
  user_id uuid not null,
  seed_jwe text not null,
  expires_at timestamptz not null,
  enrolled_at timestamptz,
  last_step bigint not null default 0,
  primary key (tenant_id, user_id),
  foreign key (tenant_id, user_id) references users
);
call raise_tenant_wall('user_totp');

create table recovery_codes (
  tenant_id uuid not null,
  user_id uuid not null,
  code_digest bytea not null,
  used_at timestamptz,
  primary key (tenant_id, user_id, code_digest),
  foreign key (tenant_id, user_id) references user_totp on delete cascade
);
call raise_tenant_wall('recovery_codes');
