-- An event is known by the id that its device gave it, whatever time it names, and says which of the device's own
-- sessions it is about.
alter table telemetry_events
  drop constraint telemetry_events_pkey,
  add primary key (tenant_id, device_id, event_id, at),
  drop column session_id,
  add column session_id uuid;
