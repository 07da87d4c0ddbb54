import { type Selectable, type SqlBool, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { leaseOf } from '../../../db/lease.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { second } from '../../../kernel/time.ts'

export type StreamRow = Selectable<Tables['siem_streams']>
export type StreamId = Pick<StreamRow, 'tenant_id' | 'stream_id'>
/** The stream as a replica leased it. */
export type Leased = StreamRow & { lease: string; replays_now: boolean }

export const leaseMs = 10 * second
const { take, held, renew, renewed, released } = leaseOf('siem_streams', {
  key: ['tenant_id', 'stream_id'],
  holder: 'lease',
  until: 'leased_until',
  ms: leaseMs,
  open: { state: 'flowing' },
})
export const renewLease = renew

/** `is_failing`: the last attempt failed or was slow, so this one may be slow too. */
export type DueStream = StreamId & { is_failing: boolean }
/** Most streams of one tenant that all replicas together send at the same time. */
const mostOfTenant = sql.lit(8)
/**
 * Across tenants: streams of these tenants that have events to send and no lease, the longest waiting first. Limits:
 * the total, the number of failing ones, and each tenant's share. Times are those of the database, so that no replica's
 * clock matters.
 */
export async function dueStreams(
  tx: Tx,
  tenants: readonly TenantId[] | 'all',
  { limit, failing }: { limit: number; failing: number },
): Promise<DueStream[]> {
  const ofThese = tenants === 'all' ? sql`true` : sql`s.tenant_id = any(${[...tenants]}::uuid[])`
  const { rows } = await sql<DueStream>`
    with due as (
      select s.tenant_id, s.stream_id, s.due_at, s.failures > 0 or s.is_slow as is_failing
      from siem_streams s
      join tenants t on t.tenant_id = s.tenant_id and t.status <> 'deleted'
      left join audit_heads h on h.tenant_id = s.tenant_id
      where ${ofThese} and s.state = 'flowing' and s.due_at <= clock_timestamp()
        and (s.leased_until is null or s.leased_until < clock_timestamp())
        and (s.from_at is not null or s.after_seq < h.seq or (s.replays and s.replay_due_at <= clock_timestamp()))),
    busy as (
      select s.tenant_id, count(*) as streams from siem_streams s
      where ${ofThese} and s.state = 'flowing' and s.leased_until >= clock_timestamp() group by s.tenant_id),
    shared as (
      select due.*, row_number() over (partition by tenant_id order by due_at) as nth from due),
    fair as (
      select shared.* from shared left join busy on busy.tenant_id = shared.tenant_id
      where nth + coalesce(busy.streams, 0) <= ${mostOfTenant})
    select tenant_id, stream_id, is_failing from (
      select fair.*, row_number() over (partition by is_failing order by due_at) as place from fair) as ranked
    where not is_failing or place <= ${failing}
    order by due_at limit ${limit}`.execute(tx)
  return rows
}

/** Undefined if another replica was faster, or if there is nothing to send any more. */
export const takeLease = (tx: Tx, id: StreamId): Promise<Leased | undefined> =>
  take(tx, id)
    .where(sql<SqlBool>`due_at <= clock_timestamp()`)
    .returningAll()
    .returning(sql<boolean>`replays and replay_due_at <= clock_timestamp()`.as('replays_now'))
    .$narrowType<{ lease: string }>()
    .executeTakeFirst()

/** Batch size and slowness for the next turn, and failed attempts that are not counted yet. */
export type BatchSizing = Pick<StreamRow, 'batch_events' | 'is_slow'> & { attempts: number }
/** Columns to update after sending. */
const went = ({ batch_events, is_slow, attempts }: BatchSizing) => ({
  batch_events,
  is_slow,
  failed: sql<number>`failed + ${attempts}`,
})

/** Releases the lease. The stream goes behind others that wait. */
export const freeLease = (tx: Tx, leased: Leased, pace?: BatchSizing) =>
  held(tx, leased)
    .set({ ...released(), due_at: sql`clock_timestamp()`, ...(pace && went(pace)) })
    .execute()

/** Result of a batch: the sequence number reached, and how many events were delivered or no longer exist. */
export type BatchProgress = { from: number; to: number; taken: number; lost: number; refusedInARow: number }
/**
 * Advances the stream. Returns its number of dead letters, or undefined if another replica has the lease or has moved
 * the position.
 */
export const advance = (
  tx: Tx,
  leased: Leased,
  p: BatchProgress,
  pace: BatchSizing,
): Promise<{ dead: number } | undefined> =>
  held(tx, leased)
    .where('after_seq', '=', p.from)
    .set((e) => ({
      ...went(pace),
      after_seq: p.to,
      delivered: e('delivered', '+', p.taken),
      lost: e('lost', '+', p.lost),
      furthest_seq: sql<number>`greatest(furthest_seq, ${p.to})`,
      refused_in_a_row: p.refusedInARow,
      failures: 0,
      failing_since: null,
      problem: null,
      ...renewed(),
      ...(p.taken > 0 && { last_delivered_at: sql<Date>`clock_timestamp()` }),
    }))
    .returning('dead')
    .executeTakeFirst()

/** Releases the lease until a later attempt. Undefined if another replica has it. */
export const postponeStream = (
  tx: Tx,
  leased: Leased,
  { problem, waitMs, pace }: { problem: string; waitMs: number; pace: BatchSizing },
): Promise<StreamRow | undefined> =>
  held(tx, leased)
    .set((e) => ({
      ...went(pace),
      ...released(),
      failures: e('failures', '+', 1),
      failing_since: sql<Date>`coalesce(failing_since, clock_timestamp())`,
      problem,
      due_at: sql<Date>`clock_timestamp() + ${waitMs} * interval '1 millisecond'`,
    }))
    .returningAll()
    .executeTakeFirst()

/** Stops the stream until a person fixes the cause. An export fails for good. */
export const park = (tx: Tx, leased: Leased, problem: string, pace: BatchSizing): Promise<boolean> =>
  affectedRow(
    held(tx, leased)
      .set({
        ...went(pace),
        ...(leased.from_at === null
          ? { state: 'parked' as const }
          : { state: 'failed' as const, finished_at: sql<Date>`clock_timestamp()` }),
        ...released(),
        failing_since: sql<Date>`coalesce(failing_since, clock_timestamp())`,
        problem,
      })
      .returning('stream_id'),
  )

/** Ends an export that is complete. */
export const finishExport = (tx: Tx, leased: Leased, pace: BatchSizing) =>
  held(tx, leased)
    .set({
      ...went(pace),
      state: 'finished',
      problem: null,
      ...released(),
      finished_at: sql`clock_timestamp()`,
    })
    .execute()

/** Stores the range of sequence numbers of an export, and its number of events. */
export const setRange = (tx: Tx, leased: Leased, range: { after_seq: number; until_seq: number; events: number }) =>
  affectedRow(
    held(tx, leased)
      .set({ ...range, ...renewed() })
      .returning('stream_id'),
  )

/** Changes a stream and ends its lease, so that the result of a turn in progress is discarded. */
export const setStream = (
  tx: Tx,
  { tenant_id, stream_id }: StreamId,
  state: Partial<Pick<StreamRow, 'state' | 'after_seq' | 'runs' | 'replays' | 'problem' | 'failing_since'>> = {},
) =>
  tx
    .updateTable('siem_streams')
    .set({
      ...state,
      ...released(),
      failures: 0,
      refused_in_a_row: 0,
      due_at: sql`clock_timestamp()`,
      replay_failures: 0,
      replay_due_at: sql`clock_timestamp()`,
    })
    .where('tenant_id', '=', tenant_id)
    .where('stream_id', '=', stream_id)
    .execute()

/** Advances the stream past the event that blocks it. The caller makes that event a dead letter. */
export const passOver = (
  tx: Tx,
  { tenant_id, stream_id }: StreamId,
  { from, to, lost, added }: { from: number; to: number; lost: number; added: number },
) =>
  tx
    .updateTable('siem_streams')
    .set((e) => ({
      after_seq: to,
      furthest_seq: sql<number>`greatest(furthest_seq, ${to})`,
      lost: e('lost', '+', lost),
      dead: e('dead', '+', added),
    }))
    .where('tenant_id', '=', tenant_id)
    .where('stream_id', '=', stream_id)
    .where('after_seq', '=', from)
    .execute()

/** Ends the leases of a connector's exports. Batches in transit are sent again with the new settings. */
export const endExportLeases = (tx: Tx, { tenant_id, connector_id }: Pick<StreamRow, 'tenant_id' | 'connector_id'>) =>
  tx
    .updateTable('siem_streams')
    .set({ ...released(), due_at: sql`clock_timestamp()` })
    .where('tenant_id', '=', tenant_id)
    .where('connector_id', '=', connector_id)
    .where('from_at', 'is not', null)
    .where('state', '=', 'flowing')
    .execute()

export const insertStream = (
  tx: Tx,
  stream: StreamId &
    Pick<StreamRow, 'connector_id' | 'state' | 'after_seq'> &
    Partial<Pick<StreamRow, 'from_at' | 'to_at' | 'furthest_seq' | 'created_at'>>,
) => tx.insertInto('siem_streams').values(stream).execute()

const select = (tx: Tx, { tenant_id, stream_id }: StreamId) =>
  tx.selectFrom('siem_streams').selectAll().where('tenant_id', '=', tenant_id).where('stream_id', '=', stream_id)
/** Locks a stream until commit. */
export const lockStream = (tx: Tx, id: StreamId): Promise<StreamRow | undefined> =>
  select(tx, id).forUpdate().executeTakeFirst()

/** Returns the number of dead letters of the connector. */
export async function deadOf(tx: Tx, { tenant_id, connector_id }: Pick<StreamRow, 'tenant_id' | 'connector_id'>) {
  const found = await tx
    .selectFrom('siem_streams')
    .select('dead')
    .where('tenant_id', '=', tenant_id)
    .where('stream_id', '=', connector_id)
    .executeTakeFirst()
  return found?.dead ?? 0
}

/**
 * Updates the number of dead letters of the connector and returns it. For an export it also adds to the number that it
 * caused.
 */
export async function countDead(
  tx: Tx,
  leased: Leased,
  { refused, change }: { refused: number; change: number },
): Promise<number> {
  const { tenant_id, connector_id, from_at } = leased
  if (from_at !== null)
    await held(tx, leased)
      .set((e) => ({ dead: e('dead', '+', refused) }))
      .execute()
  const connector = await tx
    .updateTable('siem_streams')
    .set({ dead: sql<number>`greatest(0, dead + ${change})` })
    .where('tenant_id', '=', tenant_id)
    .where('stream_id', '=', connector_id)
    .returning('dead')
    .executeTakeFirst()
  return connector?.dead ?? 0
}
/** Result of a replay: `deleted` dead letters were delivered (`taken`), or their events no longer exist. */
type Replayed = { deleted: number; taken: number; lost: number; isWell: boolean }
export const countReplayed = (tx: Tx, leased: Leased, { deleted, taken, lost, isWell }: Replayed, pace: BatchSizing) =>
  affectedRow(
    held(tx, leased)
      .set((e) => ({
        ...went(pace),
        dead: sql<number>`greatest(0, dead - ${deleted})`,
        delivered: e('delivered', '+', taken),
        lost: e('lost', '+', lost),
        ...(isWell && { replay_failures: 0, failures: 0, failing_since: null, problem: null }),
      }))
      .returning('stream_id'),
  )
/** Releases the stream for new events. The replay waits. */
export const postponeReplay = (tx: Tx, leased: Leased, waitMs: number, pace: BatchSizing) =>
  held(tx, leased)
    .set((e) => ({
      ...went(pace),
      ...released(),
      due_at: sql<Date>`clock_timestamp()`,
      replay_failures: e('replay_failures', '+', 1),
      replay_due_at: sql<Date>`clock_timestamp() + ${waitMs} * interval '1 millisecond'`,
    }))
    .execute()
export const endReplay = (tx: Tx, leased: Leased): Promise<boolean> =>
  affectedRow(
    held(tx, leased)
      .set({ replays: false, ...renewed() })
      .returning('stream_id'),
  )

/** Export of a period: a stream of its own. */
export type ExportRow = StreamRow & { from_at: Date; to_at: Date }

const selectExports = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('siem_streams')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('from_at', 'is not', null)
    .where('to_at', 'is not', null)
    .$narrowType<{ from_at: Date; to_at: Date }>()

export const findExport = (tx: Tx, tenant: TenantId, id: string): Promise<ExportRow | undefined> =>
  selectExports(tx, tenant).where('stream_id', '=', id).executeTakeFirst()

/** Returns the running exports of a connector. */
export const exportsOnTheirWay = (tx: Tx, tenant: TenantId, connectorId: string): Promise<ExportRow[]> =>
  selectExports(tx, tenant).where('connector_id', '=', connectorId).where('finished_at', 'is', null).execute()
