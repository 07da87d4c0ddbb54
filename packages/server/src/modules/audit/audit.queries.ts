import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { storableJson } from '../../kernel/text.ts'

export type Arrival = Omit<Selectable<Tables['audit_arrivals']>, 'arrival'>

/** One statement, however many rows: they travel as one parameter, so the statement's text is always the same. */
export const insert = (tx: Tx, rows: Arrival[]) =>
  sql`
    insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, actor_name, target_id, target_name,
      source_ip, request_id, record)
    select * from jsonb_to_recordset(${storableJson(rows)}::jsonb) as r (tenant_id uuid, event_id uuid, at timestamptz,
      kind text, outcome text, actor_id text, actor_name text, target_id text, target_name text, source_ip text,
      request_id text, record text)`.execute(tx)

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
