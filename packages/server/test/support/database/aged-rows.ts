import { type OwnerConnection, queryValue } from './owner-connection.ts'

/** Inserts rows that are this many days old, and the partition of their month. */
export async function addTelemetry(owner: OwnerConnection, tenant: string, daysAgo: number, rows: number) {
  await owner.query(`call ensure_partitions(now() - make_interval(days => ${daysAgo}))`)
  await owner.query(
    `insert into telemetry_events (tenant_id, at, device_id, event_id, kind)
     select $1, now() - make_interval(days => $2), $3, 'event-' || $2 || '-' || i, 'connected'
     from generate_series(1, $4) as i`,
    [tenant, daysAgo, crypto.randomUUID(), rows],
  )
}

/** Inserts ended sessions of every user. */
export const addEndedSessions = (owner: OwnerConnection, daysAgo: number, each: number) =>
  owner.query(`insert into admin_sessions (tenant_id, session_id, user_id, secret_digest, auth_method, started_at,
      last_seen_at, idle_seconds, expires_at, ended_at, end_reason)
    select u.tenant_id, gen_random_uuid(), u.user_id, decode(md5(u.user_id::text || i), 'hex'), 'password',
      now() - interval '${daysAgo} days', now(), 60, now(), now() - interval '${daysAgo} days', 'timeout'
    from users u, generate_series(1, ${each}) as i`)

/** Adds this number of events with sequence numbers to the existing ones. */
export async function addEvents(owner: OwnerConnection, tenant: string, rows: number) {
  await owner.query(
    `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, record)
     select $1, gen_random_uuid(), now(), 'user.changed', 'success', format('{"n":%s}', i)
     from generate_series(1, $2) as i`,
    [tenant, rows],
  )
  await owner.query(`select set_config('holdfast.tenant', $1, false)`, [tenant])
  while ((await queryValue(owner, 'select sequence_audit(5000) as value')) !== 0);
}

/** Makes the sequence numbers of matching events look as if assigned long ago. */
export async function ageAuditLog(owner: OwnerConnection, condition: string, by = '400 days') {
  await owner.query('set session_replication_role = replica')
  await owner.query(`update audit_log set sequenced_at = now() - interval '${by}' where ${condition}`)
  await owner.query('set session_replication_role = default')
}
