import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { lines } from '../../db/lines.ts'
import { purging } from '../../db/retention.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type Arrival = Omit<Selectable<Tables['audit_arrivals']>, 'arrival'>

/**
 * One statement for any number of rows: each column is one parameter, so that the statement text is always the same.
 */
export function insertArrivals(tx: Tx, rows: readonly Arrival[]) {
  const { column, plain } = columnsOf(rows)
  return sql`
    insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name, target_id, target_name,
      source_ip, request_id, record)
    select * from unnest(${plain('tenant_id')}::uuid[], ${plain('event_id')}::uuid[], ${column('at')}::timestamptz[],
      ${plain('kind')}, ${plain('outcome')}, ${column('actor_id')}::text[], ${column('actor_name')}::text[],
      ${column('target_id')}::text[], ${column('target_name')}::text[], ${column('source_ip')}::text[],
      ${column('request_id')}::text[], ${plain('record')})`.execute(tx)
}

/**
 * Assigns sequence numbers to the events of one report, after the events that already wait. If another replica holds
 * the head, or too many events wait, these events wait too. Returns how many numbers were assigned, and whether these
 * events wait. Columns that the events share are taken from the first.
 */
export async function place(tx: Tx, events: readonly [Arrival, ...Arrival[]]) {
  const [{ tenant_id, at, actor_id, actor_name, source_ip, request_id }] = events
  const { column, plain } = columnsOf(events)
  const { rows } = await sql<{ given: number; waits: boolean }>`
    select given, waits from place_report(${tenant_id}, ${at}, ${actor_id}, ${actor_name}, ${source_ip}, ${request_id},
      ${plain('event_id')}::uuid[], ${plain('kind')}, ${plain('outcome')}, ${column('target_id')}::text[],
      ${column('target_name')}::text[], ${plain('record')})`.execute(tx)
  return rows[0] ?? { given: 0, waits: true }
}

/**
 * RFC 8785 writes a line feed in a record as `
 * `. The server chose the other plain columns, and they contain none.
 */
const columnsOf = (rows: readonly Arrival[]) => ({
  column: (name: keyof Arrival) => rows.map((row) => row[name]),
  plain: (name: 'tenant_id' | 'event_id' | 'kind' | 'outcome' | 'record') => lines(rows.map((row) => row[name])),
})

/**
 * Assigns sequence numbers to the tenant's next events, at most `most`. Returns how many; null if another replica holds
 * the head.
 */
export async function sequence(tx: Tx, most: number): Promise<number | null> {
  const { rows } = await sql<{ count: number | null }>`select sequence_audit(${most}) as count`.execute(tx)
  return rows[0]?.count ?? null
}

/** Tenants with unsequenced events, each with the time of its oldest one. Each tenant costs one index look-up. */
const oldest = sql`(
  with recursive next as (
    (select tenant_id, at from audit_arrivals order by tenant_id, arrival limit 1)
    union all
    select a.* from next n cross join lateral (
      select tenant_id, at from audit_arrivals where tenant_id > n.tenant_id order by tenant_id, arrival limit 1) as a)
  select tenant_id, at from next)`

export async function tenantsWithArrivals(tx: Tx): Promise<TenantId[]> {
  const { rows } = await sql<{ tenant_id: TenantId }>`select tenant_id from ${oldest} as oldest`.execute(tx)
  return rows.map((r) => r.tenant_id)
}

/**
 * Bypasses tenant isolation. Counts the unsequenced events, up to `most`, and returns the age of the oldest in seconds.
 */
export async function backlogOf(tx: Tx, most: number): Promise<{ events: number; seconds: number }> {
  const { rows } = await sql<{ events: number; seconds: number }>`
    select (select count(*) from (select from audit_arrivals limit ${most}) as waiting) as events,
      greatest(0, coalesce(extract(epoch from clock_timestamp() - min(at)), 0))::float8 as seconds
    from ${oldest} as oldest`.execute(tx)
  return rows[0] ?? { events: 0, seconds: 0 }
}

type Span = { from: Date; to: Date; step: 'hour' | 'day' }
type EventCounts = { at: Date; enrollments: number; logins_failed: number; refused: number }

/** Number of events of each charted kind, by step. Steps without events are left out. */
export const countsBetween = async (tx: Tx, tenant: TenantId, { from, to, step }: Span): Promise<EventCounts[]> => {
  const { rows } = await sql<EventCounts>`
    select date_trunc(${step}, hour, 'utc') as at,
      coalesce(sum(events) filter (where kind = 'device.enrolled' and outcome = 'success'), 0) as enrollments,
      coalesce(sum(events) filter (where kind = 'login.failed'), 0) as logins_failed,
      coalesce(sum(events) filter (where outcome = 'refused'), 0) as refused
    from audit_counts where tenant_id = ${tenant} and hour >= ${from} and hour < ${to}
    group by 1 order by 1`.execute(tx)
  return rows
}

/** Kept as long as the other charted data. */
export const pruneCounts = purging('metering', 'audit_counts', (before) => sql`hour < ${before}`)
