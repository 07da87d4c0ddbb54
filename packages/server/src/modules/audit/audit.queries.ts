import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { lines } from '../../db/lines.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type Arrival = Omit<Selectable<Tables['audit_arrivals']>, 'arrival'>

/** One statement, however many rows: each column is one parameter, so that its text is always the same. */
export function insert(tx: Tx, rows: readonly Arrival[]) {
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
 * Gives the events of one report their places, behind those that wait for theirs; where another replica is at it, or
 * too many wait, they wait too. Says how many places were given, and which was the last of these events if they got
 * theirs. What the events have in common is that of the first.
 */
export async function place(tx: Tx, events: readonly [Arrival, ...Arrival[]]) {
  const [{ tenant_id, at, actor_id, actor_name, source_ip, request_id }] = events
  const { column, plain } = columnsOf(events)
  const { rows } = await sql<{ given: number; last: number | null }>`
    select given, last from place_report(${tenant_id}, ${at}, ${actor_id}, ${actor_name}, ${source_ip}, ${request_id},
      ${plain('event_id')}::uuid[], ${plain('kind')}, ${plain('outcome')}, ${column('target_id')}::text[],
      ${column('target_name')}::text[], ${plain('record')})`.execute(tx)
  return rows[0] ?? { given: 0, last: null }
}

/** RFC 8785 writes a line feed in a record as `\n`; what else is plain, the server chose. */
const columnsOf = (rows: readonly Arrival[]) => ({
  column: (name: keyof Arrival) => rows.map((row) => row[name]),
  plain: (name: 'tenant_id' | 'event_id' | 'kind' | 'outcome' | 'record') => lines(rows.map((row) => row[name])),
})

/**
 * Gives the next events of the tenant, at most so many, their places. Says how many; null where another replica is at
 * it.
 */
export async function sequence(tx: Tx, most: number): Promise<number | null> {
  const { rows } = await sql<{ count: number | null }>`select sequence_audit(${most}) as count`.execute(tx)
  return rows[0]?.count ?? null
}

/** Beyond the tenant wall: how many events have no place yet, of the first so many, and how long the oldest waits. */
export async function backlogOf(tx: Tx, most: number): Promise<{ events: number; seconds: number }> {
  const { rows } = await sql<{ events: number; seconds: number }>`
    select count(*) as events, greatest(0, coalesce(extract(epoch from clock_timestamp() - min(at)), 0))::float8 as seconds
    from (select at from audit_arrivals limit ${most}) as waiting`.execute(tx)
  return rows[0] ?? { events: 0, seconds: 0 }
}

/** Tenants with events that have no place yet; each is one look at the index. */
export async function tenantsWithArrivals(tx: Tx): Promise<TenantId[]> {
  const { rows } = await sql<{ tenant_id: TenantId }>`
    with recursive next (tenant_id) as (
      (select tenant_id from audit_arrivals order by tenant_id limit 1)
      union all
      select (select a.tenant_id from audit_arrivals a where a.tenant_id > n.tenant_id order by a.tenant_id limit 1)
      from next n where n.tenant_id is not null)
    select tenant_id from next where tenant_id is not null`.execute(tx)
  return rows.map((r) => r.tenant_id)
}
