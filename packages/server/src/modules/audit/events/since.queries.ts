import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export async function headSeqOf(tx: Tx, tenant: TenantId): Promise<number> {
  const row = await tx.selectFrom('audit_heads').select('seq').where('tenant_id', '=', tenant).executeTakeFirst()
  return row?.seq ?? 0
}

export async function eventsSince(tx: Tx, tenant: TenantId, after: number, kinds: readonly string[], most: number) {
  const head = await headSeqOf(tx, tenant)
  const from = (first: number) =>
    tx
      .selectFrom('audit_log')
      .where('tenant_id', '=', tenant)
      .where('seq', '>', first)
      .where('seq', '<=', head)
      .where(sql<boolean>`kind = any(${[...kinds]}::text[])`)
  if (head <= after) return { head, events: [], more: [] }
  const events = await from(after).select(['seq', 'kind', 'record']).orderBy('seq').limit(most).execute()
  const last = events.at(-1)
  if (events.length < most || !last) return { head, events, more: [] }
  const more = await from(last.seq).select('kind').distinct().execute()
  return { head, events, more: more.map((row) => row.kind) }
}
