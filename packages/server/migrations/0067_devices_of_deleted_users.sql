-- Devices of users that were deleted before stayed as they were, and kept their places. They are revoked now: on
-- record, and told to the replicas that run meanwhile.
with locked as (
  select d.tenant_id, d.device_id from devices d join users u on u.tenant_id = d.tenant_id and u.user_id = d.user_id
  where u.deleted_at is not null and d.status <> 'revoked'
  order by d.tenant_id, d.device_id for no key update of d),
revoked as (
  update devices d set status = 'revoked', revoked_at = now(), updated_at = now() from locked l
  where d.tenant_id = l.tenant_id and d.device_id = l.device_id
  returning d.tenant_id, d.device_id, d.name, d.address_number),
freed as (
  insert into free_addresses (tenant_id, address_number)
  select tenant_id, address_number from revoked order by tenant_id, address_number),
recorded as (
  insert into audit_events (tenant_id, event_id, at, kind, outcome, actor_type, actor_id, actor_name, target_type,
    target_id, target_name, origin, fields, details)
  select tenant_id, gen_random_uuid(), now(), 'device.changed', 'success', 'job', 'upgrade', 'upgrade', 'device',
    type_id('dev', device_id), name, 'job',
    jsonb_build_object('operation', 'revoke', 'device_id', type_id('dev', device_id)),
    '{"reason": "its user was deleted"}'
  from revoked),
epochs as (
  update tenant_epochs e set seq = e.seq + 1, changed_at = greatest(e.changed_at, now())
  from (select distinct tenant_id from revoked) r
  where e.tenant_id = r.tenant_id returning e.tenant_id, e.seq, e.changed_at)
insert into changes (tenant_id, seq, kind, subject, at)
select r.tenant_id, e.seq, 'device', r.device_id, e.changed_at from revoked r join epochs e using (tenant_id);
