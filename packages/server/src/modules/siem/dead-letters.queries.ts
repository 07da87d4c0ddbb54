import { deadLetterDays } from '@holdfast/contract/limits'
import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { purgeTime } from '../../db/kept.ts'
import { deleting, type Prune } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type DeadLetterRow = Selectable<Tables['siem_dead_letters']>
type Of = Pick<DeadLetterRow, 'tenant_id' | 'connector_id'>

const inConnector = (tx: Tx, { tenant_id, connector_id }: Of) =>
  tx.selectFrom('siem_dead_letters').where('tenant_id', '=', tenant_id).where('connector_id', '=', connector_id)
export const selectDeadLetters = (tx: Tx, of: Of) => inConnector(tx, of).selectAll()

/**
 * Inserts dead letters of one connector. One that exists gets the new reason. It counts as one of an export only while
 * nothing but exports were refused it. Returns the number of new ones.
 */
export async function insertDeadLetters(tx: Tx, rows: readonly Omit<DeadLetterRow, 'replaying'>[]): Promise<number> {
  const [first] = rows
  if (!first) return 0
  const column = <T>(of: (row: (typeof rows)[number]) => T) => rows.map(of)
  const { rows: inserted } = await sql<{ is_new: boolean }>`
    insert into siem_dead_letters (tenant_id, connector_id, of_export, seq, event_id, kind, reason, failed_at)
    select ${first.tenant_id}::uuid, ${first.connector_id}::uuid, ${first.of_export}::boolean, e.*
    from unnest(${column((r) => r.seq)}::bigint[], ${column((r) => r.event_id)}::uuid[],
      ${column((r) => r.kind)}::text[], ${column((r) => r.reason)}::text[], ${column((r) => r.failed_at)}::timestamptz[])
      as e (seq, event_id, kind, reason, failed_at)
    order by e.seq
    on conflict (tenant_id, connector_id, seq) do update
      set reason = excluded.reason, failed_at = excluded.failed_at, replaying = false,
        of_export = siem_dead_letters.of_export and excluded.of_export
    returning xmax = 0 as is_new`.execute(tx)
  return inserted.filter((row) => row.is_new).length
}

/** Marks these, or all, to be sent again. Returns their number. */
export async function markReplaying(tx: Tx, { tenant_id, connector_id }: Of, places: readonly number[] | 'all') {
  let q = tx
    .updateTable('siem_dead_letters')
    .set({ replaying: true })
    .where('tenant_id', '=', tenant_id)
    .where('connector_id', '=', connector_id)
  if (places !== 'all') q = q.where('seq', '=', sql<number>`any(${[...places]}::bigint[])`)
  const { numUpdatedRows } = await q.executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Cancels all replays of dead letters. */
export const unmarkReplaying = (tx: Tx, { tenant_id, connector_id }: Of) =>
  tx
    .updateTable('siem_dead_letters')
    .set({ replaying: false })
    .where('tenant_id', '=', tenant_id)
    .where('connector_id', '=', connector_id)
    .where('replaying', '=', true)
    .execute()

export const nextReplaying = (tx: Tx, of: Of, limit: number): Promise<DeadLetterRow[]> =>
  selectDeadLetters(tx, of).where('replaying', '=', true).orderBy('seq').limit(limit).execute()

/** Cancels the replay of these dead letters, with the reason. */
export async function putBack(
  tx: Tx,
  { tenant_id, connector_id }: Of,
  refusedEvents: readonly (readonly [{ seq: number }, reason: string])[],
  failed_at: Date,
): Promise<void> {
  if (refusedEvents.length === 0) return
  const places = refusedEvents.map(([{ seq }]) => seq)
  const reasons = refusedEvents.map(([, reason]) => reason)
  await sql`
    update siem_dead_letters d set reason = e.reason, failed_at = ${failed_at}, replaying = false
    from unnest(${places}::bigint[], ${reasons}::text[]) as e (seq, reason)
    where d.tenant_id = ${tenant_id} and d.connector_id = ${connector_id} and d.seq = e.seq`.execute(tx)
}

/** Deletes dead letters that were delivered, or whose events were deleted. Returns those that existed. */
export async function deleteDeadLetters(tx: Tx, { tenant_id, connector_id }: Of, places: readonly number[] | 'all') {
  if (places.length === 0) return []
  let q = tx.deleteFrom('siem_dead_letters').where('tenant_id', '=', tenant_id).where('connector_id', '=', connector_id)
  if (places !== 'all') q = q.where('seq', '=', sql<number>`any(${[...places]}::bigint[])`)
  return q.returning('of_export').execute()
}

export const isDeadLetter = async (tx: Tx, of: Of, seq: number): Promise<boolean> =>
  (await inConnector(tx, of).select('seq').where('seq', '=', seq).executeTakeFirst()) !== undefined

const isOld = sql`failed_at < ${purgeTime} - interval '${sql.raw(`${deadLetterDays}`)} days'`
/** Deletes dead letters at the end of their time. They then count as lost, except those that only an export was refused. */
export const pruneDeadLetters: Prune = {
  isDue: deleting('siem_dead_letters', isOld).isDue,
  take: async (tx, tenant: TenantId, limit) => {
    const { rows } = await sql<{ amount: number }>`
      with mine as (
        select s.stream_id from siem_streams s where s.tenant_id = ${tenant} and s.from_at is null
        order by s.tenant_id, s.stream_id for update),
      gone as (
        delete from siem_dead_letters where tenant_id = ${tenant} and connector_id in (select stream_id from mine)
          and ${isOld} and ctid = any(array(
            select ctid from siem_dead_letters where tenant_id = ${tenant} and ${isOld} limit ${limit}))
        returning connector_id, of_export),
      counted as (
        select connector_id, count(*) as amount, count(*) filter (where not of_export) as lost from gone group by 1),
      lowered as (
        update siem_streams s set dead = greatest(0, s.dead - c.amount), lost = s.lost + c.lost from counted c
        where s.tenant_id = ${tenant} and s.stream_id = c.connector_id)
      select coalesce(sum(amount), 0)::bigint as amount from counted`.execute(tx)
    return Number(rows[0]?.amount ?? 0)
  },
}
/** Deletes exports 30 days after their end. */
export const pruneExports = deleting('siem_streams', sql`finished_at < ${purgeTime} - interval '30 days'`)
