-- migrate: batches
-- The words of the devices of before 0070. A change of one waits for its batch, and then replaces these words.
with batch as (
  select * from devices where (tenant_id, device_id) > ($1, $2) order by tenant_id, device_id limit 500 for share
), indexed as (
  insert into search_words (tenant_id, kind, place, word, subject_id)
    select r.tenant_id, 'device', e.place, e.word, r.device_id
    from batch r cross join lateral search_entries(array[r.name, r.serial]) e
    on conflict do nothing
)
select tenant_id, device_id from batch order by 1 desc, 2 desc limit 1
