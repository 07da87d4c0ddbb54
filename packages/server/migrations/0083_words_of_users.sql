-- migrate: batches
-- The words of the users of before 0070. A change of one waits for its batch, and then replaces these words.
with batch as (
  select * from users where (tenant_id, user_id) > ($1, $2) order by tenant_id, user_id limit 500 for share
), indexed as (
  insert into search_words (tenant_id, kind, place, word, subject_id)
    select r.tenant_id, 'user', e.place, e.word, r.user_id
    from batch r cross join lateral search_entries(array[r.username, r.display_name, r.email]) e where r.deleted_at is null
    on conflict do nothing
)
select tenant_id, user_id from batch order by 1 desc, 2 desc limit 1
