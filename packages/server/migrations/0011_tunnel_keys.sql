-- A WireGuard key belongs to one device and a gateway's to one gateway: whoever enrolled with another's key cut it off.
update devices d set wireguard_public_key = null
where exists (
  select from devices other
  where other.tenant_id = d.tenant_id and other.wireguard_public_key = d.wireguard_public_key
    and other.status <> 'revoked' and other.device_id < d.device_id)
  and d.status <> 'revoked';
create unique index wireguard_key_is_used_by_one_device on devices (tenant_id, wireguard_public_key)
  where status <> 'revoked';

update gateways g set public_key = null
where exists (
  select from gateways other
  where other.tenant_id = g.tenant_id and other.public_key = g.public_key
    and other.deleted_at is null and other.gateway_id < g.gateway_id)
  and g.deleted_at is null;
create unique index gateway_key_is_used_by_one_gateway on gateways (tenant_id, public_key) where deleted_at is null;
