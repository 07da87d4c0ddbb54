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

-- What was signed of the record: for good.
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

revoke update, delete on audit_tiles, audit_checkpoints from holdfast_app;
create trigger audit_tiles_are_append_only before update or delete on audit_tiles
  for each row execute function refuse_to_change_the_record();
create trigger audit_tiles_are_not_emptied before truncate on audit_tiles
  for each statement execute function refuse_to_change_the_record();
create trigger audit_checkpoints_are_append_only before update or delete on audit_checkpoints
  for each row execute function refuse_to_change_the_record();
create trigger audit_checkpoints_are_not_emptied before truncate on audit_checkpoints
  for each statement execute function refuse_to_change_the_record();

-- A proof is asked for by the event.
create index if not exists audit_log_by_event_id on audit_log (tenant_id, event_id);
