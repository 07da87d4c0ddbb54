-- The master keys that were ever given, by what is derived from them: whoever starts says which are in its file. The
-- one with version n made the MAC of tokens that say n; its key for that is kept here, sealed under the key that writes
-- now, so that such tokens outlive their master key.
create table master_keys (
  version smallint primary key constraint version_is_one_digit check (version between 1 and 61),
  key_id text not null constraint master_key_is_known_once unique,
  pepper_jwe text,
  first_seen_at timestamptz not null default now(),
  -- When a replica last began to write under it.
  written_at timestamptz,
  -- Since when nothing is under it; until then no replica starts without it.
  unused_since timestamptz,
  -- What was last found under it.
  sealed bigint,
  digests bigint,
  counted_at timestamptz
);
grant select, insert, update on master_keys to holdfast_app;

-- So far there was one, which sealed whatever is there.
insert into master_keys (version, key_id, written_at)
  select 1, convert_from(decode(rpad(translate(header, '-_', '+/'), (length(header) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::json ->> 'kid', now()
  from (select split_part(private_jwe, '.', 1) as header from signing_keys where private_jwe is not null limit 1) as any_key;

-- Which factor a code was matched with, however its seed is sealed by then.
alter table user_totp add column factor_id uuid not null default gen_random_uuid();

-- The version of the key that made a digest last.
alter table admin_sessions add column secret_digest_version smallint not null default 1;
alter table api_keys add column secret_digest_version smallint not null default 1;
alter table gateway_secrets add column secret_digest_version smallint not null default 1;
alter table enrollment_tokens add column secret_digest_version smallint not null default 1;
alter table recovery_codes add column code_digest_version smallint not null default 1;
