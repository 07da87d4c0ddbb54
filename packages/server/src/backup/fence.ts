import type { Connection } from '../db/connection.ts'
import { jobSource, type TenantId } from '../kernel/actor.ts'
import { restoreFloorAt, restoreLeap } from '../kernel/restore-floor.ts'
import { arrivalOf } from '../modules/audit/index.ts'
import { changeKinds, everything } from '../replication/changes.ts'

/** Number of events written at once. */
const batch = 500

/**
 * Period without purges and without final deletion of tenants. Legal holds, longer retention periods and cancelled
 * deletions may be missing in the restored data, and deleted rows can't be recovered.
 */
const grace = `interval '7 days'`

/**
 * Advances the sequence numbers of every tenant past any that may have been issued after the backup, in the caller's
 * transaction. Devices, gateways and verifiers refuse data older than their own, and checkpoints belong to another log
 * from then on. Ends sessions of administrators, sign-ins in progress, and leases of former replicas. Records an event
 * in the audit log of each tenant. Returns the number of tenants.
 */
export async function fence(
  connection: Connection,
  { job, taken_at }: { job: 'restore' | 'fence'; taken_at?: string },
): Promise<number> {
  // Tables are locked in the usual order. A running server waits for all of it, and no deadlock is possible.
  await connection.query(`lock table tenants, siem_streams, directory_pulls, sign_in_requests, saml_requests,
    device_grants, admin_sessions, crls, workflow_runs, idempotency_keys, tenant_epochs in exclusive mode`)
  const { rows: clock } = await connection.query<{ at: Date }>('select clock_timestamp() as at')
  const at = clock[0]!.at
  const past = (column: string) => `case when ${column} < $1 then $1 else ${column} + ${restoreLeap} end`
  const { rows: tenants } = await connection.query<{ tenant_id: TenantId; before: string; seq: string }>(
    `with before as (select tenant_id, seq from tenant_epochs)
     update tenant_epochs e set seq = ${past('e.seq')}, fenced_at = $2, changed_at = greatest(changed_at, $2)
     from before where before.tenant_id = e.tenant_id
     returning e.tenant_id, before.seq as before, e.seq`,
    [restoreFloorAt(at), at],
  )
  // Replicas can't follow the change log across the gap, so they reload everything.
  await connection.query('delete from changes')
  await connection.query(
    `insert into changes (tenant_id, seq, kind, subject, at)
     select tenant_id, seq, kind, $1, changed_at from tenant_epochs, unnest($2::text[]) as kind`,
    [everything, changeKinds],
  )
  await connection.query(
    `update crls set number = ${past('number')}, revision = revision + 1, this_update = null, next_update = null, der = null`,
    [restoreFloorAt(at)],
  )
  await connection.query(`update admin_sessions set ended_at = $1, end_reason = 'manual' where ended_at is null`, [at])
  for (const table of ['sign_in_requests', 'saml_requests', 'device_grants'])
    await connection.query(`delete from ${table}`)
  await endLeases(connection, at)
  await putOffWhatIsForGood(connection, at)
  for (let i = 0; i < tenants.length; i += batch) {
    const events = tenants.slice(i, i + batch).map(({ tenant_id, before, seq }) => {
      const fields = { cause: job, ...(taken_at && { taken_at }) }
      const more = { changes: { seq: [Number(before), Number(seq)] as const } }
      return arrivalOf(jobSource(tenant_id, job), 'deployment.fenced', fields, more, at)
    })
    await connection.query(
      `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name, record)
       select tenant_id, event_id, at, kind, outcome, actor_id, actor_name, record from json_to_recordset($1)
         as e (tenant_id uuid, event_id uuid, at timestamptz, kind text, outcome text, actor_id text, actor_name text,
           record text)`,
      [JSON.stringify(events)],
    )
  }
  return tenants.length
}

/**
 * Ends leases of replicas that no longer exist, which may have used another clock. Their successors continue from the
 * stored positions.
 */
async function endLeases(connection: Connection, at: Date): Promise<void> {
  await connection.query(
    `update siem_streams set lease = null, leased_until = null, due_at = least(due_at, $1),
       replay_due_at = least(replay_due_at, $1) where finished_at is null`,
    [at],
  )
  for (const table of ['directory_pulls', 'workflow_runs'])
    await connection.query(`update ${table} set claimed_by = null, claimed_until = least(claimed_until, $1)`, [at])
  // Keys are settled in the transaction of the change. So a key in state `started` has no change, and its request may
  // be repeated.
  await connection.query(`delete from idempotency_keys where state = 'started'`)
}

async function putOffWhatIsForGood(connection: Connection, at: Date): Promise<void> {
  await connection.query(
    `insert into retention_clock as c (seen_at, trusted_from) values ($1, $1::timestamptz + ${grace})
     on conflict (there_is_one) do update set seen_at = excluded.seen_at, trusted_from = greatest(c.trusted_from,
       excluded.seen_at + least(greatest(excluded.seen_at - c.seen_at, ${grace}), interval '30 days'))`,
    [at],
  )
  await connection.query(
    `update tenants set delete_after = $1::timestamptz + ${grace}
     where delete_after < $1::timestamptz + ${grace} and deleted_at is null`,
    [at],
  )
}
