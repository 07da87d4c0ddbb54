-- migrate: batches
-- The trigger of 0072 sets the key of each row that is updated.
with batch as (
  select tenant_id, device_id from devices where (tenant_id, device_id) > ($1, $2) order by tenant_id, device_id limit 1000
), due as (
  select t.tenant_id, t.device_id from batch join devices t using (tenant_id, device_id)
  where t.client_version is not null and t.client_version_key = '' order by 1, 2 for no key update of t
), filled as (
  update devices t set client_version_key = t.client_version_key from due where t.tenant_id = due.tenant_id and t.device_id = due.device_id
)
select tenant_id, device_id from batch order by 1 desc, 2 desc limit 1
