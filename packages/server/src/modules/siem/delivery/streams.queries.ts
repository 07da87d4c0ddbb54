import { type Selectable, type SqlBool, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { happened } from '../../../db/happened.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type StreamRow = Selectable<Tables['siem_streams']>
export type StreamId = Pick<StreamRow, 'tenant_id' | 'stream_id'>
/** What a replica holds while it sends: the stream as it took it, under its own lease. */
export type Leased = StreamRow & { lease: string; replays_now: boolean }

/** Longer than a holder that lives ever lets pass without saying so. */
const leaseSeconds = sql.lit(10)
export const leasedUntil = sql<Date>`clock_timestamp() + ${leaseSeconds} * interval '1 second'`

/** `is_failing`: the last attempt failed or took long, so that this one may take long. */
type DueStream = StreamId & { is_failing: boolean }
/** Streams of one tenant that are sent at the same time, by all replicas together. */
const mostOfTenant = sql.lit(8)
/**
 * Beyond the tenant wall: streams of these tenants with something to send that nobody sends, the longest waiting first,
 * at most so many, of those that fail at most so many, and of a tenant no more than its share. Times are those of the
 * database, so that no clock of a replica matters.
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

/** Undefined where another replica was faster, or there is nothing to send there any more. */
export async function takeLease(
  tx: Tx,
  { tenant_id, stream_id }: StreamId,
  lease: string,
): Promise<Leased | undefined> {
  const taken = await tx
    .updateTable('siem_streams')
    .set({ lease, leased_until: leasedUntil })
    .where('tenant_id', '=', tenant_id)
    .where('stream_id', '=', stream_id)
    .where('state', '=', 'flowing')
    .where(sql<SqlBool>`due_at <= clock_timestamp()`)
    .where(sql<SqlBool>`(leased_until is null or leased_until < clock_timestamp())`)
    .returningAll()
    .returning(sql<boolean>`replays and replay_due_at <= clock_timestamp()`.as('replays_now'))
    .executeTakeFirst()
  return taken && { ...taken, lease }
}

/** Whoever has the lease changes the stream; whoever had it changes nothing. */
export const held = (tx: Tx, { tenant_id, stream_id, lease }: Leased) =>
  tx
    .updateTable('siem_streams')
    .where('tenant_id', '=', tenant_id)
    .where('stream_id', '=', stream_id)
    .where('lease', '=', lease)
    .where('state', '=', 'flowing')

export const renewLease = (tx: Tx, leased: Leased): Promise<boolean> =>
  happened(held(tx, leased).set({ leased_until: leasedUntil }).returning('stream_id'))

/** What a stream's next turn goes by, and attempts that failed and are not counted yet. */
export type Pace = Pick<StreamRow, 'batch_events' | 'is_slow'> & { attempts: number }
/** What is written down of how sending went. */
export const went = ({ batch_events, is_slow, attempts }: Pace) => ({
  ...{ batch_events, is_slow },
  failed: sql<number>`failed + ${attempts}`,
})

/** Free again, and behind others that wait. */
export const freeLease = (tx: Tx, leased: Leased, pace?: Pace) =>
  held(tx, leased)
    .set({ lease: null, leased_until: null, due_at: sql`clock_timestamp()`, ...(pace && went(pace)) })
    .execute()

/** Up to which place a batch went, and what of it was taken or is no longer on record. */
export type Progress = { from: number; to: number; taken: number; lost: number; refusedInARow: number }
/** How many dead letters the stream has; undefined where the lease or the place is another's by now. */
export const advance = (tx: Tx, leased: Leased, p: Progress, pace: Pace): Promise<{ dead: number } | undefined> =>
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
      leased_until: leasedUntil,
      ...(p.taken > 0 && { last_delivered_at: sql<Date>`clock_timestamp()` }),
    }))
    .returning('dead')
    .executeTakeFirst()

/** Gives the lease back until a later attempt; undefined where it was another's. */
export const postpone = (
  tx: Tx,
  leased: Leased,
  { problem, waitMs, pace }: { problem: string; waitMs: number; pace: Pace },
): Promise<StreamRow | undefined> =>
  held(tx, leased)
    .set((e) => ({
      ...went(pace),
      lease: null,
      leased_until: null,
      failures: e('failures', '+', 1),
      failing_since: sql<Date>`coalesce(failing_since, clock_timestamp())`,
      problem,
      due_at: sql<Date>`clock_timestamp() + ${waitMs} * interval '1 millisecond'`,
    }))
    .returningAll()
    .executeTakeFirst()

/** Until a person mends it; an export has failed. */
export const park = (tx: Tx, leased: Leased, problem: string, pace: Pace): Promise<boolean> =>
  happened(
    held(tx, leased)
      .set({
        ...went(pace),
        ...(leased.from_at === null
          ? { state: 'parked' as const }
          : { state: 'failed' as const, finished_at: sql<Date>`clock_timestamp()` }),
        lease: null,
        leased_until: null,
        failing_since: sql<Date>`coalesce(failing_since, clock_timestamp())`,
        problem,
      })
      .returning('stream_id'),
  )

/** An export is at its end. */
export const finish = (tx: Tx, leased: Leased, pace: Pace) =>
  held(tx, leased)
    .set({
      ...went(pace),
      state: 'finished',
      problem: null,
      lease: null,
      leased_until: null,
      finished_at: sql`clock_timestamp()`,
    })
    .execute()

/** Between which places the events of an export are, and how many. */
export const setRange = (tx: Tx, leased: Leased, range: { after_seq: number; until_seq: number; events: number }) =>
  happened(
    held(tx, leased)
      .set({ ...range, leased_until: leasedUntil })
      .returning('stream_id'),
  )

/** Nothing that was begun under a lease counts any more; whoever is at it finds its lease gone. */
export const setStream = (
  tx: Tx,
  { tenant_id, stream_id }: StreamId,
  state: Partial<Pick<StreamRow, 'state' | 'after_seq' | 'runs' | 'replays' | 'problem' | 'failing_since'>> = {},
) =>
  tx
    .updateTable('siem_streams')
    .set({
      ...state,
      lease: null,
      leased_until: null,
      failures: 0,
      refused_in_a_row: 0,
      due_at: sql`clock_timestamp()`,
      replay_failures: 0,
      replay_due_at: sql`clock_timestamp()`,
    })
    .where('tenant_id', '=', tenant_id)
    .where('stream_id', '=', stream_id)
    .execute()

/** Behind the event that it stands on, which is a dead letter from then on. */
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

/** What its exports have on their way counts no more, and is sent anew as the connector is now. */
export const endExportLeases = (tx: Tx, { tenant_id, connector_id }: Pick<StreamRow, 'tenant_id' | 'connector_id'>) =>
  tx
    .updateTable('siem_streams')
    .set({ lease: null, leased_until: null, due_at: sql`clock_timestamp()` })
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
/** Until commit nobody else changes where it stands. */
export const lockStream = (tx: Tx, id: StreamId): Promise<StreamRow | undefined> =>
  select(tx, id).forUpdate().executeTakeFirst()
