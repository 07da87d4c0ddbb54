import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type Place = { seq: number; hash: string }

/** Head of the tenant's audit log. No event is ever inserted before it. */
export async function headPlaceOf(tx: Tx, tenant: TenantId): Promise<Place> {
  const row = await tx
    .selectFrom('audit_heads')
    .select(['seq', 'hash'])
    .where('tenant_id', '=', tenant)
    .executeTakeFirst()
  return row ? { seq: row.seq, hash: row.hash.toString('hex') } : { seq: 0, hash: noHash }
}
const noHash = '00'.repeat(32)

export type ExportWindow = { after: number; upTo: number; most: number; mostBytes: number }

/**
 * Matching events from `after` (exclusive) to `upTo` (inclusive), in order, with the search columns. Stops at about
 * `most` events or once `mostBytes` bytes are reached, but never between rows with the same sequence number. `bytes`
 * counts from the first event.
 */
export const eventsBetween = (
  tx: Tx,
  tenant: TenantId,
  fits: RawBuilder<boolean>,
  { after, upTo, most, mostBytes }: ExportWindow,
) =>
  tx
    .selectFrom(
      tx
        .selectFrom('audit_log')
        .select(['seq', 'hash', 'record', ...columns])
        .select(sql<number>`sum(octet_length(record)) over (order by seq)`.as('bytes'))
        .select(
          sql<number | null>`sum(octet_length(record)) over (order by seq groups between unbounded preceding
            and 1 preceding)`.as('before'),
        )
        .where('tenant_id', '=', tenant)
        .where('seq', '>', after)
        .where('seq', '<=', upTo)
        .where(fits)
        .orderBy('seq')
        .fetch(most, 'with ties')
        .as('next'),
    )
    .select(['seq', 'hash', 'record', ...columns, 'bytes'])
    .where(sql<boolean>`coalesce(before, 0) < ${mostBytes}`)
    .orderBy('seq')
    .execute()
const columns = [
  ...(['event_id', 'at', 'kind', 'outcome', 'actor_id', 'actor_name_key'] as const),
  ...(['target_id', 'target_name_key', 'source_ip', 'request_id'] as const),
]

/** Events up to this sequence number have been purged. */
export async function beginsAfter(tx: Tx, tenant: TenantId): Promise<number> {
  const { rows } = await sql<{ seq: number }>`select audit_begins_after(${tenant}) as seq`.execute(tx)
  return rows[0]?.seq ?? 0
}

/**
 * Hash at a sequence number. For a purged event it is read from the hash tree; null if it is from before the tree
 * began.
 */
export async function hashAt(tx: Tx, tenant: TenantId, seq: number): Promise<string | null> {
  if (seq === 0) return noHash
  const hash = (table: 'audit_log' | 'audit_beginnings' | 'audit_leaves') =>
    tx.selectFrom(table).select('hash').where('tenant_id', '=', tenant).where('seq', '=', seq)
  const inTile = tx
    .selectFrom('audit_tiles')
    .select(sql<Buffer>`substring(hashes from ${((seq - 1) % 256) * 32 + 1}::integer for 32)`.as('hash'))
    .where('tenant_id', '=', tenant)
    .where('level', '=', 0)
    .where('number', '=', Math.floor((seq - 1) / 256))
  const row = await hash('audit_log')
    .unionAll(hash('audit_beginnings'))
    .unionAll(hash('audit_leaves'))
    .unionAll(inTile)
    .executeTakeFirst()
  return row?.hash.toString('hex') ?? null
}

/**
 * Audit event of the newest export that finished with this digest. All exports without events have the same bytes, so
 * the filter and format must match too, if given.
 */
export async function exportedAs(
  tx: Tx,
  tenant: TenantId,
  sha256: string,
  exportQuery: { format: string; filter: object } | undefined,
): Promise<string | undefined> {
  const row = await tx
    .selectFrom('audit_log')
    .select('record')
    .where('tenant_id', '=', tenant)
    .where('kind', '=', 'audit.exported')
    .where('target_id', '=', sha256)
    .where('outcome', '=', 'success')
    .where(exportQuery ? manifestSays(exportQuery) : sql<boolean>`true`)
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.record
}
const manifestSays = ({ format, filter }: { format: string; filter: object }) =>
  sql<boolean>`(record::jsonb #>> '{details,manifest,format}' = ${format}
    and record::jsonb #> '{details,manifest,filter}' = ${JSON.stringify(filter)}::jsonb)`
