import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import { fits, hasPrefix, isRare } from '../../db/page.ts'
import type { Tables } from '../../db/tables/index.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { storableJson } from '../../kernel/text.ts'

type Stored = Selectable<Tables['audit_events']>
export type EventRow = Omit<Stored, 'fields' | 'changes' | 'details' | 'actor_name_key' | 'target_name_key'> & {
  fields: object
  changes: object | null
  details: object | null
}

/** One statement, however many rows: they travel as one parameter, so the statement's text is always the same. */
export const insert = (tx: Tx, rows: EventRow[]) =>
  sql`
    insert into audit_events (tenant_id, event_id, at, kind, outcome, actor_type, actor_id, actor_name, target_type,
      target_id, target_name, source_ip, user_agent, request_id, origin, fields, changes, details)
    select * from jsonb_to_recordset(${storableJson(rows)}::jsonb) as r (tenant_id uuid, event_id uuid, at timestamptz,
      kind text, outcome text, actor_type text, actor_id text, actor_name text, target_type text, target_id text,
      target_name text, source_ip text, user_agent text, request_id text, origin text, fields jsonb, changes jsonb,
      details jsonb)`.execute(tx)

/** Filters are exact but `q`, which is a prefix of the kind, an id or a name. */
type Filter = {
  kind?: string
  actor_id?: string
  target_id?: string
  source_ip?: string
  outcome?: 'success' | 'refused' | 'failed'
  from?: Date
  to?: Date
  request_id?: string
}
export const select = (tx: Tx, tenant: TenantId, f: Filter) => {
  let q = tx.selectFrom('audit_events').selectAll().where('tenant_id', '=', tenant)
  for (const column of ['kind', 'actor_id', 'target_id', 'source_ip', 'outcome', 'request_id'] as const) {
    const value = f[column]
    if (value !== undefined) q = q.where(column, '=', value)
  }
  if (f.from !== undefined) q = q.where('at', '>=', f.from)
  if (f.to !== undefined) q = q.where('at', '<', f.to)
  return q
}

/** What a search looks into: each has an index, so what fits little is found by them. */
const searched = ['kind', 'actor_id', 'actor_name_key', 'target_id', 'target_name_key'] as const
export const begins = (q: string) =>
  sql<boolean>`(${sql.join(
    searched.map((column) => hasPrefix(column, q)),
    sql` or `,
  )})`
const found = (tenant: TenantId, q: string) =>
  sql.join(
    searched.map((c) =>
      fits('at', sql`audit_events where tenant_id = ${tenant} and ${hasPrefix(c, q)}`, ['tenant_id', c, 'at']),
    ),
    sql` union all `,
  )
export const isRareSearch = (tx: Tx, tenant: TenantId, q: string) => isRare(tx, found(tenant, q))
/** The moments of the events that a rare search finds. */
export const atFound = (tenant: TenantId, q: string) => sql<boolean>`at = any(array(${found(tenant, q)}))`
