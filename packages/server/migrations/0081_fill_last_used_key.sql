-- migrate: batches
-- Each of api_keys has a row; the trigger of 0075 sets the key of each row that is updated.
with batch as (
  select tenant_id, key_id from api_keys where (tenant_id, key_id) > ($1, $2)
  order by tenant_id, key_id limit 1000 for key share
), begun as (
  insert into api_key_activity (tenant_id, key_id) select tenant_id, key_id from batch order by 1, 2
    on conflict do nothing
), due as (
  select t.tenant_id, t.key_id from batch join api_key_activity t using (tenant_id, key_id)
  where t.last_used_at is not null and t.last_used_key = '-infinity' order by 1, 2 for no key update of t
), filled as (
  update api_key_activity t set last_used_key = t.last_used_key from due where t.tenant_id = due.tenant_id and t.key_id = due.key_id
)
select tenant_id, key_id from batch order by 1 desc, 2 desc limit 1
