-- Keys in a token that no row of signing_keys needs: made a moment ago, and until a row takes them; or of a row that has
-- ended or is gone. They are destroyed there when `destroy_after` has passed.
create table unneeded_token_keys (
  kid text primary key,
  destroy_after timestamptz not null
);
create index unneeded_token_keys_by_time on unneeded_token_keys (destroy_after);
grant select, insert, delete on unneeded_token_keys to holdfast_app;

-- A row takes a key only while nobody can be destroying it.
create function take_token_key() returns trigger language plpgsql as $$
begin
  delete from unneeded_token_keys where kid = new.kid and destroy_after > now() + interval '30 minutes';
  if not found then
    raise exception 'the key % was made in the token too long ago', new.kid;
  end if;
  return null;
end $$;
create trigger take_token_key after insert on signing_keys for each row
  when (new.provider = 'pkcs11') execute function take_token_key();

create function give_up_token_key() returns trigger language plpgsql as $$
begin
  insert into unneeded_token_keys (kid, destroy_after) values (old.kid, now()) on conflict do nothing;
  return null;
end $$;
create trigger give_up_ended_token_key after update of state on signing_keys for each row
  when (old.provider = 'pkcs11' and old.state in ('pending', 'active', 'retiring')
    and new.state in ('retired', 'compromised')) execute function give_up_token_key();
create trigger give_up_erased_token_key after delete on signing_keys for each row
  when (old.provider = 'pkcs11' and old.state in ('pending', 'active', 'retiring')) execute function give_up_token_key();
