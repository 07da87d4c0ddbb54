import { idempotencyHours } from '@holdfast/contract/limits'
import { sql } from 'kysely'
import type { IdempotencyClaim } from '../kernel/actor.ts'
import { LoneError } from '../kernel/write-bisecting.ts'
import type { Tx } from './transaction.ts'

/** Age of an unfinished claim after which its process counts as gone, and another attempt may take the key over. */
const abandonedAfter = sql`interval '30 seconds'`

/** Claims the key. If it is already claimed, returns its present state. */
export const take = async (tx: Tx, { tenantId, principal, key, attempt }: IdempotencyClaim, fingerprint: Buffer) => {
  const { rows } = await sql`
    insert into idempotency_keys as i (tenant_id, principal, key, fingerprint, attempt, created_at)
    values (${tenantId}, ${principal}, ${key}, ${fingerprint}, ${attempt}, clock_timestamp())
    on conflict (tenant_id, principal, key) do update
      set attempt = excluded.attempt, fingerprint = excluded.fingerprint, created_at = excluded.created_at
      where i.state = 'started' and i.created_at < clock_timestamp() - ${abandonedAfter}
    returning key`.execute(tx)
  if (rows.length > 0) return undefined
  return tx
    .selectFrom('idempotency_keys')
    .select(['state', 'fingerprint', 'answer_jwe'])
    .select(sql<boolean>`created_at > clock_timestamp() - ${abandonedAfter}`.as('is_recent'))
    .where('tenant_id', '=', tenantId)
    .where('principal', '=', principal)
    .where('key', '=', key)
    .executeTakeFirstOrThrow()
}

/**
 * For a caller that alone executes the work of this key: takes over an attempt that has not reached its change. True if
 * the change was already made.
 */
export const takeOver = async (
  tx: Tx,
  { tenantId, principal, key, attempt }: IdempotencyClaim,
  fingerprint: Buffer,
) => {
  const { rows } = await sql`
    insert into idempotency_keys as i (tenant_id, principal, key, fingerprint, attempt, created_at)
    values (${tenantId}, ${principal}, ${key}, ${fingerprint}, ${attempt}, clock_timestamp())
    on conflict (tenant_id, principal, key) do update set attempt = excluded.attempt where i.state = 'started'
    returning key`.execute(tx)
  return rows.length === 0
}

const own = (tx: Tx, { tenantId, principal, key, attempt }: IdempotencyClaim) =>
  tx
    .updateTable('idempotency_keys')
    .where('tenant_id', '=', tenantId)
    .where('principal', '=', principal)
    .where('key', '=', key)
    .where('attempt', '=', attempt)

/**
 * Runs in the transaction of the change. From its commit on, the change is made and no other attempt may make it. An
 * attempt whose key was taken over changes nothing.
 */
export const settleClaim = async (tx: Tx, claim: IdempotencyClaim): Promise<void> => {
  const row = await own(tx, claim).set({ state: 'done' }).returning('state').executeTakeFirst()
  if (!row)
    throw new LoneError(
      'validation_error',
      'Idempotency-Key: the first request with this key is still running: try again shortly',
    )
}

export const keepAnswer = (tx: Tx, claim: IdempotencyClaim, answer: string) =>
  own(tx, claim).set({ state: 'done', answer_jwe: answer }).execute()

/** Frees the key of an attempt that failed before its change. */
export const drop = (tx: Tx, { tenantId, principal, key, attempt }: IdempotencyClaim) =>
  tx
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', tenantId)
    .where('principal', '=', principal)
    .where('key', '=', key)
    .where('attempt', '=', attempt)
    .where('state', '=', 'started')
    .execute()

/** Keys of workflow steps are kept as long as a run may still be resumed, however long the deployment was down. */
export const forgetOld = (tx: Tx) =>
  sql`delete from idempotency_keys where created_at < clock_timestamp() - interval '${sql.raw(`${idempotencyHours}`)} hours'
    and (principal not like 'workflow_run:%' or created_at < clock_timestamp() - interval '90 days')`.execute(tx)
