-- An index for every filter and order that a list of the contract offers. Behind the wall an index serves only
-- conditions whose functions are leakproof: comparisons of plain columns are, lower(), LIKE and the operators of arrays
-- are not. So what is compared without regard to case is a column, in the order of its bytes, and what is looked for
-- inside an array has rows of its own.

alter table devices add column name_key text collate "C" generated always as (lower(name)) stored;
drop index devices_by_name;
create index devices_by_name on devices (tenant_id, name_key, device_id);
drop index devices_by_user;
create index devices_by_user on devices (tenant_id, user_id, device_id) where user_id is not null;
drop index devices_by_token;
create index devices_by_token on devices (tenant_id, token_id, enrolled_at, device_id) where token_id is not null;
create index devices_by_status on devices (tenant_id, status, enrolled_at, device_id);
create index devices_by_platform on devices (tenant_id, platform, enrolled_at, device_id);

create table device_tags (
  tenant_id uuid not null,
  tag text not null,
  device_id uuid not null,
  primary key (tenant_id, tag, device_id),
  foreign key (tenant_id, device_id) references devices on delete cascade
);
create index device_tags_by_device on device_tags (tenant_id, device_id);
call raise_tenant_wall('device_tags');

-- Groups that a device has of itself, beside those of its user.
create table device_groups (
  tenant_id uuid not null,
  group_id uuid not null,
  device_id uuid not null,
  primary key (tenant_id, group_id, device_id),
  foreign key (tenant_id, device_id) references devices on delete cascade
);
create index device_groups_by_device on device_groups (tenant_id, device_id);
call raise_tenant_wall('device_groups');
insert into device_tags (tenant_id, tag, device_id)
  select distinct tenant_id, unnest(tags), device_id from devices;
insert into device_groups (tenant_id, group_id, device_id)
  select distinct tenant_id, unnest(group_ids), device_id from devices;

alter table users
  add column username_key text collate "C" generated always as (lower(username)) stored,
  add column email_key text collate "C" generated always as (lower(email)) stored,
  add column display_name_key text collate "C" generated always as (lower(display_name)) stored;
drop index username_is_unique_in_its_tenant;
create unique index username_is_unique_in_its_tenant on users (tenant_id, username_key) where deleted_at is null;
create index users_by_name on users (tenant_id, username_key, user_id);
create index users_by_email on users (tenant_id, email_key, user_id) where email_key is not null;
drop index email_is_unique_in_its_tenant;
create unique index email_is_unique_in_its_tenant on users (tenant_id, email_key)
  where deleted_at is null and email_key is not null;
create index users_by_kind on users (tenant_id, kind, created_at, user_id);
create index users_by_display_name on users (tenant_id, display_name_key, user_id);
create index users_by_status on users (tenant_id, status, created_at, user_id);
create index users_by_source on users (tenant_id, source, created_at, user_id);
create index user_roles_by_role on user_roles (tenant_id, role, granted_at, grant_id);

alter table groups add column name_key text collate "C" generated always as (lower(name)) stored;
drop index group_name_is_unique_in_its_tenant;
create unique index group_name_is_unique_in_its_tenant on groups (tenant_id, name_key);
-- Kept by whoever adds or removes members, so that a list of groups does not count a fleet.
alter table groups add column member_count integer not null default 0;
update groups g set member_count =
  (select count(*) from group_members m where m.tenant_id = g.tenant_id and m.group_id = g.group_id);

alter table gateway_pools add column name_key text collate "C" generated always as (lower(name)) stored;
drop index pool_name_is_unique_in_its_tenant;
create unique index pool_name_is_unique_in_its_tenant on gateway_pools (tenant_id, name_key);

alter table gateways add column name_key text collate "C" generated always as (lower(name)) stored;
drop index gateway_name_is_unique_in_its_tenant;
create unique index gateway_name_is_unique_in_its_tenant on gateways (tenant_id, name_key) where deleted_at is null;
create index gateways_by_name on gateways (tenant_id, pool_id, name_key, gateway_id);

-- is_spent changes once in a token's life, so counting a use touches no index.
alter table enrollment_tokens
  add column name_key text collate "C" generated always as (lower(name)) stored,
  add column is_spent boolean generated always as (max_uses > 0 and uses >= max_uses) stored;
create index enrollment_tokens_by_name on enrollment_tokens (tenant_id, name_key, token_id);
create index enrollment_tokens_revoked on enrollment_tokens (tenant_id, created_at, token_id)
  where revoked_at is not null;
create index enrollment_tokens_standing on enrollment_tokens (tenant_id, is_spent, expires_at, token_id)
  where revoked_at is null;

create index api_keys_revoked on api_keys (tenant_id, created_at, key_id) where revoked_at is not null;
create index api_keys_by_expiry on api_keys (tenant_id, expires_at, key_id) where revoked_at is null;

drop index admin_sessions_by_user;
create index admin_sessions_by_user on admin_sessions (tenant_id, user_id, started_at, session_id)
  where ended_at is null;

create index notifications_by_kind on notifications (tenant_id, kind, created_at, notification_id);
create index notifications_by_severity on notifications (tenant_id, severity, created_at, notification_id);
create index notifications_acknowledged on notifications (tenant_id, created_at, notification_id)
  where acknowledged_at is not null;

create index policy_bundles_by_channel on policy_bundles (tenant_id, channel, version);
-- The newest version with a content.
create index policy_bundles_by_digest on policy_bundles (tenant_id, digest, version);

drop index vpn_sessions_by_device;
drop index vpn_sessions_by_user;
drop index vpn_sessions_by_gateway;
create index vpn_sessions_by_device on vpn_sessions (tenant_id, device_id, state, started_at, session_id);
create index vpn_sessions_by_user on vpn_sessions (tenant_id, user_id, state, started_at, session_id)
  where user_id is not null;
create index vpn_sessions_by_gateway on vpn_sessions (tenant_id, gateway_id, state, started_at, session_id);
create index vpn_sessions_by_pool on vpn_sessions (tenant_id, pool_id, state, started_at, session_id);

-- Every request of an API key writes an event, so each index here is paid for often. By kind, actor and target: what an
-- investigation asks for, and what a search by prefix reads. By source: "what else came from this address". By outcome:
-- only what did not succeed, which is little. Names: only where they are not the id again, for the search by prefix.
alter table audit_events
  alter column kind type text collate "C",
  alter column actor_id type text collate "C",
  alter column target_id type text collate "C",
  add column actor_name_key text collate "C" generated always as (lower(actor_name)) stored,
  add column target_name_key text collate "C" generated always as (lower(target_name)) stored;
drop index audit_events_by_kind;
drop index audit_events_by_actor;
drop index audit_events_by_target;
create index audit_events_by_kind on audit_events (tenant_id, kind, at, event_id);
create index audit_events_by_actor on audit_events (tenant_id, actor_id, at, event_id)
  where actor_id is not null;
create index audit_events_by_target on audit_events (tenant_id, target_id, at, event_id)
  where target_id is not null;
create index audit_events_by_actor_name on audit_events (tenant_id, actor_name_key, at, event_id)
  where actor_name_key is not null;
create index audit_events_by_target_name on audit_events (tenant_id, target_name_key, at, event_id)
  where target_name_key is not null;
create index audit_events_by_source on audit_events (tenant_id, source_ip, at, event_id) where source_ip is not null;
create index audit_events_by_outcome on audit_events (tenant_id, outcome, at, event_id) where outcome <> 'success';
