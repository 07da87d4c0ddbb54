import assert from 'node:assert/strict'
import pg from 'pg'
import { type Kit, runJob } from '../deployment/deployment.ts'
import { eventsOf } from '../domain/audit-events.ts'

/** Connects as the owner of the tables. */
export async function connectOwner(kit: Kit) {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  client.on('error', () => {})
  await client.connect()
  kit.after(() => client.end())
  return client
}
export type Owner = Awaited<ReturnType<typeof connectOwner>>
export const ask = async <T>(owner: Owner, text: string, values: unknown[] = []): Promise<T> =>
  (await owner.query(text, values)).rows[0]?.value as T
export const count = (owner: Owner, table: string, condition = 'true') =>
  ask<number>(owner, `select count(*)::int as value from ${table} where ${condition}`)

/** Ends the waiting period of shorter retention and of released holds, as a day later. */
export const settle = (owner: Owner) =>
  owner.query(`set session_replication_role = replica;
    update retention_settings set settles_at = 'epoch';
    update retention_periods set settles_at = 'epoch';
    update legal_holds set released_at = released_at - interval '25 hours';
    set session_replication_role = default`)
export const forget = (kit: Kit, i = 0) => runJob(kit.replicas[i]!.app, 'forget_what_is_over')

export const statusOf = async (client: Kit['admin'], name: string) =>
  (await client.getRetention()).classes.find((c) => c.class === name) ?? assert.fail(name)
export const purgesOf = async (client: Kit['admin'], name: string) =>
  (await eventsOf({ admin: client }, 'retention.purged')).filter((e) => e.class === name)

type Place = Parameters<Kit['admin']['placeLegalHold']>[0]
export const placeHold = (client: Kit['admin'], body: Partial<Place['body']> = {}, more: Pick<Place, 'query'> = {}) =>
  client.placeLegalHold({ ...more, body: { reason: 'proceedings 12-34', ...body } })
export const releaseHold = (client: Kit['admin'], legal_hold_id: string, more: Pick<Place, 'query'> = {}) =>
  client.releaseLegalHold({ ...more, params: { legal_hold_id }, body: { reason: 'settled' } })

/** Inserts rows that are this many days old, and the partition of their month. */
export async function addTelemetry(owner: Owner, tenant: string, daysAgo: number, rows: number) {
  await owner.query(`call ensure_partitions(now() - make_interval(days => ${daysAgo}))`)
  await owner.query(
    `insert into telemetry_events (tenant_id, at, device_id, event_id, kind)
     select $1, now() - make_interval(days => $2), $3, 'event-' || $2 || '-' || i, 'connected'
     from generate_series(1, $4) as i`,
    [tenant, daysAgo, crypto.randomUUID(), rows],
  )
}
/** Inserts ended sessions of every user. */
export const addEndedSessions = (owner: Owner, daysAgo: number, each: number) =>
  owner.query(`insert into admin_sessions (tenant_id, session_id, user_id, secret_digest, auth_method, started_at,
      last_seen_at, idle_seconds, expires_at, ended_at, end_reason)
    select u.tenant_id, gen_random_uuid(), u.user_id, decode(md5(u.user_id::text || i), 'hex'), 'password',
      now() - interval '${daysAgo} days', now(), 60, now(), now() - interval '${daysAgo} days', 'timeout'
    from users u, generate_series(1, ${each}) as i`)

/** Adds this number of events with sequence numbers to the existing ones. */
export async function addEvents(owner: Owner, tenant: string, rows: number) {
  await owner.query(
    `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, record)
     select $1, gen_random_uuid(), now(), 'user.changed', 'success', canonical_json(jsonb_build_object('n', i))
     from generate_series(1, $2) as i`,
    [tenant, rows],
  )
  await owner.query(`select set_config('holdfast.tenant', $1, false)`, [tenant])
  while ((await ask(owner, 'select sequence_audit(5000) as value')) !== 0);
}
/** Makes the sequence numbers of matching events look as if assigned long ago. */
export async function ageRecord(owner: Owner, condition: string, by = '400 days') {
  await owner.query('set session_replication_role = replica')
  await owner.query(`update audit_log set sequenced_at = now() - interval '${by}' where ${condition}`)
  await owner.query('set session_replication_role = default')
}
