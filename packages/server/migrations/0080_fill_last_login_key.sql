-- migrate: batches
-- The trigger of 0074 sets the key of each row that is updated.
with batch as (
  select tenant_id, user_id from users where (tenant_id, user_id) > ($1, $2) order by tenant_id, user_id limit 1000
), due as (
  select t.tenant_id, t.user_id from batch join users t using (tenant_id, user_id)
  where t.last_login_at is not null and t.last_login_key = '-infinity' order by 1, 2 for no key update of t
), filled as (
  update users t set last_login_key = t.last_login_key from due where t.tenant_id = due.tenant_id and t.user_id = due.user_id
)
select tenant_id, user_id from batch order by 1 desc, 2 desc limit 1
