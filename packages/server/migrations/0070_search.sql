-- The beginnings of the words of names, so that a search by any of them is a look-up in one index. `place` 0 begins a
-- name, 1 a later word of it. `word` is the rest of the name from there on, so that a search for several words matches.
create table search_words (
  tenant_id uuid not null,
  kind text not null,
  place smallint not null,
  word text collate "C" not null,
  subject_id uuid not null,
  primary key (tenant_id, kind, place, word, subject_id)
);
call raise_tenant_wall('search_words');

-- Each part is computed once for a text (offset 0), not once for each of its characters.
-- The entries of some texts: at most 8 words of the first 128 characters of each, 64 characters long at most.
create function search_entries(texts text[]) returns table (place smallint, word text)
  language sql immutable parallel safe as $$
  select distinct case when at = 1 then 0 else 1 end::smallint, substr(whole, at, 64)
  from (select left(lower(btrim(t)), 128) as whole from unnest(texts) as t where btrim(t) <> '' offset 0) as named
  cross join lateral (select translate(whole, $chars$-_.,:;/\@+#&|()[]{}<>'"$chars$, repeat(' ', 26)) as spaced offset 0) as split
  cross join lateral (
    select at from generate_series(1, length(whole)) as at
    where at = 1 or substr(spaced, at, 1) <> ' ' and substr(spaced, at - 1, 1) = ' '
    order by at limit 8) as beginnings
$$;

-- Keeps the entries of a table: `texts` and `fits` speak of a row as `r`, and only of `columns`. Writers queue behind a
-- table's lock while the next table's is waited for, so that the waits of six tables add up to half a second at most.
create procedure index_for_search(tbl text, kind text, id text, columns text, texts text, fits text)
  language plpgsql set lock_timeout = '80ms' as $$
begin
  execute format($f$
    create function search_%1$s() returns trigger language plpgsql as $b$
    begin
      if tg_op = 'INSERT' then
        insert into search_words (tenant_id, kind, place, word, subject_id)
          select r.tenant_id, %2$L, e.place, e.word, r.%3$s from came r cross join lateral search_entries(%4$s) e
          where %5$s on conflict do nothing;
      elsif tg_op = 'DELETE' then
        delete from search_words w using went r cross join lateral search_entries(%4$s) e
          where w.tenant_id = r.tenant_id and w.kind = %2$L and w.place = e.place and w.word = e.word
            and w.subject_id = r.%3$s;
      else
        delete from search_words w using search_entries(%6$s) e
          where w.tenant_id = old.tenant_id and w.kind = %2$L and w.place = e.place and w.word = e.word
            and w.subject_id = old.%3$s;
        insert into search_words (tenant_id, kind, place, word, subject_id)
          select new.tenant_id, %2$L, e.place, e.word, new.%3$s from search_entries(%7$s) e where %9$s on conflict do nothing;
      end if;
      return null;
    end $b$;
    create trigger search_added after insert on %1$s referencing new table as came
      for each statement execute function search_%1$s();
    create trigger search_removed after delete on %1$s referencing old table as went
      for each statement execute function search_%1$s();
    create trigger search_changed after update of %10$s on %1$s for each row
      when (%6$s is distinct from %7$s or (%8$s) is distinct from (%9$s))
      execute function search_%1$s();
  $f$, tbl, kind, id, texts, fits, replace(texts, 'r.', 'old.'), replace(texts, 'r.', 'new.'),
    replace(fits, 'r.', 'old.'), replace(fits, 'r.', 'new.'), columns);
end $$;
call index_for_search('devices', 'device', 'device_id', 'name, serial', 'array[r.name, r.serial]', 'true');
call index_for_search('users', 'user', 'user_id', 'username, display_name, email, deleted_at',
  'array[r.username, r.display_name, r.email]', 'r.deleted_at is null');
call index_for_search('groups', 'group', 'group_id', 'name', 'array[r.name]', 'true');
call index_for_search('enrollment_tokens', 'enrollment_token', 'token_id', 'name, hint', 'array[r.name, r.hint]', 'true');
call index_for_search('api_keys', 'api_key', 'key_id', 'name, hint', 'array[r.name, r.hint]', 'true');
call index_for_search('policy_bundles', 'policy_version', 'bundle_id', 'note',
  $$array[r.note, r.version::text, 'v' || r.version::text, r.digest, r.channel]$$, 'true');
drop procedure index_for_search(text, text, text, text, text, text);
