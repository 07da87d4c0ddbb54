-- migrate: batches
-- Each of devices has a row; the trigger of 0073 sets the key of each row that is updated.
with batch as (
  select tenant_id, device_id from devices where (tenant_id, device_id) > ($1, $2)
  order by tenant_id, device_id limit 1000 for key share
), begun as (
  insert into device_activity (tenant_id, device_id) select tenant_id, device_id from batch order by 1, 2
    on conflict do nothing
), due as (
  select t.tenant_id, t.device_id from batch join device_activity t using (tenant_id, device_id)
  where t.last_seen_at is not null and t.seen_key = '-infinity' order by 1, 2 for no key update of t
), filled as (
  update device_activity t set seen_key = t.seen_key from due where t.tenant_id = due.tenant_id and t.device_id = due.device_id
)
select tenant_id, device_id from batch order by 1 desc, 2 desc limit 1
