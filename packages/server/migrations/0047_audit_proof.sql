-- The Merkle tree over the record of a tenant (RFC 9162). Entry n is the hash of place n. A tile is 256 hashes of one
-- level, written once, when it is full: of level 0 the entries themselves, above the roots of 256 tiles of the level
-- below. What is not in a full tile yet is read where it comes from. Tiles outlive the events, so that what was signed
-- stays provable after a purge.
create table audit_tiles (
  tenant_id uuid not null,
  level smallint not null constraint levels_begin_at_zero check (level >= 0),
  number bigint not null constraint tiles_begin_at_zero check (number >= 0),
  hashes bytea not null constraint tile_is_full check (length(hashes) = 256 * 32),
  -- Of the tree over this tile alone.
  root bytea not null constraint root_is_sha256 check (length(root) = 32),
  primary key (tenant_id, level, number)
);
call raise_tenant_wall('audit_tiles');

-- Hashes of purged places whose tile is not full yet.
create table audit_leaves (
  tenant_id uuid not null,
  seq bigint not null constraint leaves_begin_at_one check (seq > 0),
  hash bytea not null constraint leaf_is_sha256 check (length(hash) = 32),
  primary key (tenant_id, seq)
);
call raise_tenant_wall('audit_leaves');
-- Whatever purges the record leaves the hashes that no tile has, and takes those that one has got meanwhile.
create function keep_hashes_of_purged() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp as $$
begin
  delete from audit_leaves l using audit_tiles t
    where l.tenant_id in (select tenant_id from gone)
      and t.tenant_id = l.tenant_id and t.level = 0 and t.number = (l.seq - 1) / 256;
  insert into audit_leaves (tenant_id, seq, hash)
    select g.tenant_id, g.seq, g.hash from gone g
    where not exists (select from audit_tiles t
      where t.tenant_id = g.tenant_id and t.level = 0 and t.number = (g.seq - 1) / 256)
    on conflict do nothing;
  return null;
end $$;
create trigger hashes_of_purged_are_kept after delete on audit_log referencing old table as gone
  for each statement execute function keep_hashes_of_purged();

-- What was signed of the record.
create table audit_checkpoints (
  tenant_id uuid not null,
  -- How many events; the last one is that of place `size`.
  size bigint not null constraint checkpoint_is_of_something check (size > 0),
  kid text not null,
  -- Signed note (C2SP tlog-checkpoint).
  note text not null,
  created_at timestamptz not null,
  primary key (tenant_id, size)
);
call raise_tenant_wall('audit_checkpoints');

-- A checkpoint stays for a week; then the last one of each day does, and after 400 days the last one of each month. Between
-- any two sizes there is a proof, so what goes is missed by nobody who kept it.
create function is_thinned(checkpoint audit_checkpoints) returns boolean language sql stable as $$
  select checkpoint.created_at < now() - interval '7 days'
    and date_trunc(span, checkpoint.created_at, 'UTC') = date_trunc(span, next.created_at, 'UTC')
  from (select case when checkpoint.created_at < now() - interval '400 days' then 'month' else 'day' end) as kept (span),
    lateral (select c.created_at from audit_checkpoints c
      where c.tenant_id = checkpoint.tenant_id and c.size > checkpoint.size order by c.size limit 1) as next
$$;
create function refuse_unless_thinned() returns trigger language plpgsql as $$
begin
  if is_thinned(old) is not true then
    raise exception 'checkpoints are append-only' using errcode = 'insufficient_privilege';
  end if;
  return old;
end $$;

revoke update, delete on audit_tiles from holdfast_app;
revoke insert, update, delete on audit_leaves from holdfast_app;
revoke update on audit_checkpoints from holdfast_app;
create trigger audit_tiles_are_append_only before update or delete on audit_tiles
  for each row execute function refuse_to_change_the_record();
create trigger audit_tiles_are_not_emptied before truncate on audit_tiles
  for each statement execute function refuse_to_change_the_record();
create trigger audit_checkpoints_stay_as_they_are before update on audit_checkpoints
  for each row execute function refuse_to_change_the_record();
create trigger audit_checkpoints_are_only_thinned before delete on audit_checkpoints
  for each row execute function refuse_unless_thinned();
create trigger audit_checkpoints_are_not_emptied before truncate on audit_checkpoints
  for each statement execute function refuse_to_change_the_record();
