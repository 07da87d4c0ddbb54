-- A device that renews with another WireGuard key has the one before beside it for a while: nobody else may take it.
alter table devices
  add column previous_wireguard_public_key text,
  add column previous_wireguard_until timestamptz;
create index device_by_previous_wireguard_key on devices (tenant_id, previous_wireguard_public_key)
  where previous_wireguard_public_key is not null and status <> 'revoked';
