-- migrate: concurrently
-- A sweep asks every minute for the tenants with devices of ephemeral tokens, and for those devices. Without an index it
-- reads all devices of all tenants. An index whose build was interrupted is invalid, so it is dropped first.
drop index concurrently if exists devices_ephemeral;
create index concurrently devices_ephemeral on devices (tenant_id, device_id)
  where ephemeral_seconds is not null and status <> 'revoked';
