-- A report that turns no check is told of to nobody: since when what the others hold of it is so, and until when that
-- counts (null: for good).
alter table device_postures
  add column told_at timestamptz,
  add column told_until timestamptz;
-- The device list by verdict. The verdict hardly ever changes, so a report stays a hot update of one row.
create index device_postures_by_verdict on device_postures (tenant_id, verdict, device_id);
