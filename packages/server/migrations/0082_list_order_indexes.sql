-- migrate: concurrently
-- An index whose build was interrupted is invalid, so each is dropped before it is built.
drop index concurrently if exists devices_by_client_version;
create index concurrently devices_by_client_version on devices (tenant_id, client_version_key, device_id);
drop index concurrently if exists devices_by_os_version;
create index concurrently devices_by_os_version on devices (tenant_id, os_version, device_id) where os_version is not null;
-- A count of many devices is estimated from some whose addresses are drawn.
drop index concurrently if exists devices_by_address;
create index concurrently devices_by_address on devices (tenant_id, address_number);
-- The watch over devices that wait for approval asks for these in all tenants every minute.
drop index concurrently if exists devices_waiting;
create index concurrently devices_waiting on devices (tenant_id, enrolled_at) where status = 'pending';
drop index concurrently if exists device_activity_by_last_seen;
create index concurrently device_activity_by_last_seen on device_activity (tenant_id, seen_key, device_id);
drop index concurrently if exists users_by_last_login;
create index concurrently users_by_last_login on users (tenant_id, last_login_key, user_id);
drop index concurrently if exists users_locked;
create index concurrently users_locked on users (tenant_id, locked_until, user_id) where locked_until is not null;
drop index concurrently if exists api_key_activity_by_last_use;
create index concurrently api_key_activity_by_last_use on api_key_activity (tenant_id, last_used_key, key_id);
drop index concurrently if exists api_keys_by_role;
create index concurrently api_keys_by_role on api_keys (tenant_id, role, created_at, key_id);
